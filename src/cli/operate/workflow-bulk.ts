import type { WorkflowStatus } from '../../index.ts';
import type { BulkReply, WorkflowFilterBody } from '../../inspector/api/workflows.ts';
import { didYouMean } from '../../util/suggest.ts';
import { Failure } from '../failure.ts';
import type { Call } from './action.ts';
import { counted } from './text.ts';

const OVER = ['COMPLETED', 'FAILED', 'TERMINATED'] as const satisfies readonly WorkflowStatus[];
const NOT_OVER = ['PENDING', 'RUNNING', 'SUSPENDED'] as const satisfies readonly WorkflowStatus[];
const STATUSES: readonly WorkflowStatus[] = [...NOT_OVER, ...OVER];

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

/** Acts on all instances that the filters mean, portion by portion. @throws Failure if it failed for some. */
export async function bulk(call: Call, { path, done, ask, of, from }: Bulk): Promise<void> {
  if (call.args.length > 0) throw call.misuse('an ID does not go with --all');
  const given = filterOf(call);
  // A filter must not be empty.
  const filter = { status: of === 'over' ? OVER : NOT_OVER, ...given };
  if (ask !== undefined) await call.confirm(`${ask} all workflows ${meant(given, of)}?`);
  const total = { done: 0, failed: [] as BulkReply['failed'][number][] };
  for (;;) {
    const body = { filter, ...(from === undefined ? {} : { from }) };
    const reply = await call.api.post<BulkReply>(`workflows/${path}`, body);
    total.done += reply.done;
    total.failed.push(...reply.failed);
    // What fails once fails again: it would never end. What runs again stays as it is, so it would be run twice.
    if (!reply.hasMore || reply.done === 0 || path === 'rerun-all') {
      tell(call, { ...total, hasMore: reply.hasMore }, done);
      return;
    }
  }
}

function tell(call: Call, total: BulkReply, done: string): void {
  call.done(total, `${counted(total.done, 'workflow')} ${done}`);
  for (const { instanceId, reason } of total.failed) call.note(`${instanceId}: ${reason}`);
  if (total.hasMore) call.note('there are more that were left out: narrow the filters');
  if (total.failed.length > 0) throw new Failure(`${counted(total.failed.length, 'workflow')} could not be ${done}`);
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
