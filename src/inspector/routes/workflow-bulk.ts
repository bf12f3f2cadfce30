import { messageOf, SidecarError } from '../../errors.ts';
import type { WorkflowBulkResult } from '../../index.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type { BulkBody, BulkReply } from '../api/workflows.ts';
import type { ApiRoute } from '../route.ts';
import { acts, given } from './define.ts';
import { BULK } from './workflow-bodies.ts';

/** The most failures that are told, and the most instances acted on at the same time. */
const MAX_FAILURES = 100;
const MAX_AT_ONCE = 32;

type Workflows = Sidecar['workflows'];
type Filter = NonNullable<BulkBody['filter']>;

/** Operations on many instances: those of a list, or those that a filter selects. */
interface BulkChange {
  readonly path: string;
  readonly one: (workflows: Workflows, instanceId: string, body: BulkBody) => Promise<unknown>;
  readonly all: (workflows: Workflows, filter: Filter, body: BulkBody) => Promise<WorkflowBulkResult>;
}

const CHANGES: readonly BulkChange[] = [
  {
    path: 'workflows/terminate-all',
    one: (workflows, id) => workflows.service.terminate(id),
    all: (workflows, filter) => workflows.terminateAll(filter),
  },
  {
    path: 'workflows/purge-all',
    one: (workflows, id) => workflows.service.purge(id),
    all: (workflows, filter) => workflows.purgeAll(filter),
  },
  {
    path: 'workflows/rerun-all',
    one: (workflows, id, { from }) => workflows.rerun(id, given({ from })),
    all: (workflows, filter, { from }) => workflows.rerunAll(filter, given({ from })),
  },
];

export function workflowBulkRoutes(): readonly ApiRoute[] {
  return CHANGES.map((change) =>
    acts<BulkBody>(change.path, BULK, async ({ workflows }, body): Promise<BulkReply> => {
      const { done, failed, hasMore } = await changeMany(workflows, change, body);
      return { done, failed: failed.slice(0, MAX_FAILURES), hasMore };
    }),
  );
}

async function changeMany(
  workflows: Workflows,
  { path, one, all }: BulkChange,
  body: BulkBody,
): Promise<WorkflowBulkResult> {
  const { instanceIds, filter, from } = body;
  if ((instanceIds === undefined) === (filter === undefined))
    throw new SidecarError('ERR_BAD_REQUEST', 'expected either body.instanceIds or body.filter');
  if (from !== undefined && path !== 'workflows/rerun-all')
    throw new SidecarError('ERR_BAD_REQUEST', 'body.from is for rerun-all');
  if (filter !== undefined) return all(workflows, filter, body);
  const failed: { instanceId: string; reason: string }[] = [];
  const ids = [...new Set(instanceIds)];
  let next = 0;
  const changeSome = async (): Promise<void> => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      const instanceId = id;
      await one(workflows, id, body).catch((error: unknown) => failed.push({ instanceId, reason: messageOf(error) }));
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, ids.length) }, changeSome));
  return { done: ids.length - failed.length, failed, hasMore: false };
}
