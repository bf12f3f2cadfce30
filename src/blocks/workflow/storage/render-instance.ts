import type { InstanceView, InstanceWaits, WorkflowState } from '../model/instance.ts';
import { type Payload, statusOfText, valueOfText } from '../model/payload.ts';
import type { InstanceRecord } from './record.ts';

/** The view of an instance, with payloads as text. */
export function viewOf(record: InstanceRecord, input: Payload, waits: InstanceWaits = NO_WAITS): InstanceView {
  const { instanceId, name, status, createdAt, updatedAt, output, failure, customStatus, parent, rerunOf } = record;
  const view: Mutable<InstanceView> = {
    instanceId,
    name,
    status,
    createdAt,
    lastUpdatedAt: updatedAt,
    input,
    output,
  };
  if (failure !== undefined) view.failure = failure;
  if (customStatus !== undefined) view.customStatus = customStatus;
  if (waits !== NO_WAITS) addWaits(view, waits);
  if (parent !== undefined) view.parentId = parent.instanceId;
  if (rerunOf !== undefined) view.rerunOf = rerunOf;
  return view;
}

const NO_WAITS: InstanceWaits = Object.freeze({});

/** Only what there is. */
function addWaits(view: Mutable<InstanceWaits>, { missingCode, awaitedEvents, unreadEvents }: InstanceWaits): void {
  if (missingCode?.length) view.missingCode = missingCode;
  if (awaitedEvents?.length) view.awaitedEvents = awaitedEvents;
  if (unreadEvents?.length) view.unreadEvents = unreadEvents;
}

/** Filled in one by one: every end of a workflow does that, and spreading each field costs several times as much. */
type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * The state of an instance with its payloads parsed. Only the author of the workflow knows their types; what there is
 * follows from the status.
 */
export function stateOf<Input, Output, Status>(view: InstanceView): WorkflowState<Input, Output, Status> {
  const { instanceId, name, status, createdAt, lastUpdatedAt, input, output } = view;
  const { failure, customStatus, parentId, rerunOf } = view;
  const state: Mutable<Omit<InstanceView, 'input' | 'output' | 'customStatus'> & Values> = {
    instanceId,
    name,
    status,
    createdAt,
    lastUpdatedAt,
  };
  if (failure !== undefined) state.failure = failure;
  if (customStatus !== undefined) state.customStatus = statusOfText(customStatus);
  addWaits(state, view);
  if (parentId !== undefined) state.parentId = parentId;
  if (rerunOf !== undefined) state.rerunOf = rerunOf;
  if (input !== undefined) state.input = valueOfText(input);
  if (output !== undefined) state.output = valueOfText(output);
  return state as WorkflowState<Input, Output, Status>;
}

interface Values {
  readonly input?: unknown;
  readonly output?: unknown;
  readonly customStatus?: unknown;
}
