import type { WorkflowStatus } from '../../index.ts';
import type { BulkReply, WorkflowFilterBody, WorkflowsReply } from '../../inspector/api/workflows.ts';
import { didYouMean } from '../../util/suggest.ts';
import { CommandFailure } from '../failure.ts';
import type { Call } from './action.ts';
import { counted } from './text.ts';

const OVER = ['COMPLETED', 'FAILED', 'TERMINATED', 'CANCELED'] as const satisfies readonly WorkflowStatus[];
const NOT_OVER = ['PENDING', 'RUNNING', 'SUSPENDED'] as const satisfies readonly WorkflowStatus[];
const STATUSES: readonly WorkflowStatus[] = [...NOT_OVER, ...OVER];
/** The most instances of a portion, and the most failures that a reply names. */
const PORTION = 1_000;
const MOST_NAMED = 100;

/** Whether an instance with this status is over. */
export function isOver(status: WorkflowStatus): boolean {
  return OVER.some((one) => one === status);
}

/** The filters of the command line. */
export function filterOf(call: Call): WorkflowFilterBody {
  const { flags } = call;
  const status = flags.texts('status').flatMap((text) => text.split(','));
  const [name, prefix, parentId] = [flags.text('name'), flags.text('prefix'), flags.text('parent')];
  const since = call.instant('since');
  return {
    ...(status.length === 0 ? {} : { status: status.map((text) => statusOf(call, text)) }),
    ...(name === undefined ? {} : { name }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(since === undefined ? {} : { since }),
    ...(parentId === undefined ? {} : { parentId }),
  };
}

function statusOf(call: Call, text: string): WorkflowStatus {
  const status = STATUSES.find((one) => one === text.toUpperCase());
  if (status !== undefined) return status;
  throw call.misuse(
    `--status must be one of ${STATUSES.join(', ')}: actual is ${JSON.stringify(text)}${didYouMean(text, STATUSES)}`,
  );
}

/** An action on all instances that the filters mean. */
export interface Bulk {
  readonly path: string;
  readonly done: string;
  /** The verb of the question; `undefined` if none is asked. */
  readonly ask: string | undefined;
  /** Which instances it can be done to, without a filter by status. */
  readonly of: 'running' | 'over';
  readonly from?: 'start' | 'failure' | undefined;
}

/** The outcome of all portions. */
interface Total {
  done: number;
  hasMore: boolean;
  /** By instance: what fails in one portion can fail in the next one, too. */
  readonly failed: Map<string, BulkReply['failed'][number]>;
  /** How many failures no reply has named. */
  unnamed: number;
  /** Whether there may be more failures than that. */
  isCut: boolean;
}

/** Acts on all instances that the filters mean, portion by portion. @throws Failure if it failed for some. */
export async function bulk(call: Call, work: Bulk): Promise<void> {
  const { path, done, ask, of } = work;
  if (call.args.length > 0) throw call.misuse('an ID does not go with --all');
  const given = filterOf(call);
  if (ask !== undefined) await call.confirm(`${ask} all workflows of ${call.app} ${meant(given, of)}?`);
  const total: Total = { done: 0, hasMore: false, failed: new Map(), unnamed: 0, isCut: false };
  if (path === 'terminate-all') await terminateAll(call, given, total);
  else await changeAll(call, { ...work, given }, total);
  tell(call, total, done);
}

/** Goes through the list once: an instance of another host is still among those meant until that host has ended it. */
async function terminateAll(call: Call, given: WorkflowFilterBody, total: Total): Promise<void> {
  const status = (given.status ?? NOT_OVER).filter((one) => !isOver(one));
  // Without any status, all would be meant.
  if (status.length === 0) return;
  const query = { ...given, status: status.join(','), limit: PORTION };
  let cursor: string | undefined;
  do {
    const page: WorkflowsReply = await call.api.get('workflows', { ...query, cursor });
    const instanceIds = page.instances.map(({ instanceId }) => instanceId);
    if (instanceIds.length > 0) {
      const reply = await call.api.post<BulkReply>('workflows/terminate-all', { instanceIds });
      add(total, reply);
      total.unnamed += instanceIds.length - reply.done - reply.failed.length;
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
}

async function changeAll(
  call: Call,
  { path, of, from, given }: Bulk & { readonly given: WorkflowFilterBody },
  total: Total,
): Promise<void> {
  // A filter must not be empty.
  const filter = { status: of === 'over' ? OVER : NOT_OVER, ...given };
  const body = { filter, ...(from === undefined ? {} : { from }) };
  for (;;) {
    const reply = await call.api.post<BulkReply>(`workflows/${path}`, body);
    add(total, reply);
    total.isCut ||= reply.failed.length >= MOST_NAMED;
    // An instance that fails once fails again: retries would never end. One that runs again stays as it is, or it would
    // be run twice.
    if (!reply.hasMore || reply.done === 0 || path === 'rerun-all') return;
  }
}

function add(total: Total, { done, failed, hasMore }: BulkReply): void {
  total.done += done;
  total.hasMore = hasMore;
  for (const failure of failed) total.failed.set(failure.instanceId, failure);
}

function tell(call: Call, { done, hasMore, unnamed, isCut, ...total }: Total, what: string): void {
  const failed = [...total.failed.values()];
  const reply: BulkReply = { done, failed, hasMore };
  call.done(reply, `${counted(done, 'workflow')} ${what}`);
  for (const { instanceId, reason } of failed) call.note(`${instanceId}: ${reason}`);
  if (hasMore) call.note('there are more that were left out: narrow the filters');
  const count = counted(failed.length + unnamed, 'workflow');
  if (failed.length > 0) throw new CommandFailure(`${isCut ? 'at least ' : ''}${count} could not be ${what}`);
}

function meant(filter: WorkflowFilterBody, of: Bulk['of']): string {
  const { status, name, prefix, since, parentId } = filter;
  const words = [
    status === undefined ? (of === 'over' ? 'that are over' : 'that are not over') : `with status ${status.join(', ')}`,
    name === undefined ? '' : `named ${name}`,
    prefix === undefined ? '' : `with IDs from ${prefix}`,
    since === undefined ? '' : `started since ${new Date(since).toISOString()}`,
    parentId === undefined ? '' : `of parent ${parentId}`,
  ];
  return words.filter((word) => word !== '').join(', ');
}
