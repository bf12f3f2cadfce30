import type { WorkflowStatus } from '../../index.ts';
import { type JsonSchema, optionsSchema } from '../../util/options-schema.ts';
import type {
  BulkBody,
  InstanceBody,
  RaiseEventBody,
  RerunBody,
  StartBody,
  WorkflowFilterBody,
} from '../api/workflows.ts';
import { NAME, TEXT } from './define.ts';

/** The schemas of what is sent about workflows. */

export const STATUSES: readonly WorkflowStatus[] = [
  ...(['PENDING', 'RUNNING', 'SUSPENDED', 'COMPLETED', 'FAILED', 'TERMINATED', 'CANCELED'] as const),
];

export const START: JsonSchema = optionsSchema<StartBody>({ name: NAME, input: TEXT, instanceId: NAME }, ['name']);
export const INSTANCE: JsonSchema = optionsSchema<InstanceBody>({ instanceId: NAME, output: TEXT }, ['instanceId']);
export const RAISE: JsonSchema = optionsSchema<RaiseEventBody>({ instanceId: NAME, name: NAME, data: TEXT }, [
  ...(['instanceId', 'name'] as const),
]);
export const RERUN: JsonSchema = optionsSchema<RerunBody>(
  // Validated by the operation.
  { instanceId: NAME, newInstanceId: NAME, from: { type: ['string', 'number'] }, input: TEXT },
  ['instanceId'],
);

const FILTER = optionsSchema<WorkflowFilterBody>({
  status: { type: 'array', items: { enum: STATUSES } },
  ...{ name: TEXT, prefix: TEXT, parentId: TEXT },
  since: { type: 'number', minimum: 0 },
});
export const BULK: JsonSchema = optionsSchema<BulkBody>({
  instanceIds: { type: 'array', items: NAME, maxItems: 1_000 },
  filter: FILTER,
  from: { enum: ['start', 'failure'] },
});
