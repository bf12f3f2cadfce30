import type { InstanceView, MissingCode, WorkflowState } from '../model/instance.ts';
import { type Payload, valueOfText } from '../model/payload.ts';
import type { InstanceRecord } from './record.ts';

/** The view of an instance, with payloads as text. */
export function viewOf(record: InstanceRecord, input: Payload, missingCode: readonly MissingCode[] = []): InstanceView {
  const { instanceId, name, status, createdAt, updatedAt, output, failure, customStatus, parent, rerunOf } = record;
  return {
    instanceId,
    name,
    status,
    createdAt,
    lastUpdatedAt: updatedAt,
    input,
    output,
    ...(failure === undefined ? undefined : { failure }),
    ...(customStatus === undefined ? undefined : { customStatus }),
    ...(missingCode.length === 0 ? undefined : { missingCode }),
    ...(parent === undefined ? undefined : { parentId: parent.instanceId }),
    ...(rerunOf === undefined ? undefined : { rerunOf }),
  };
}

/** The state of an instance with its payloads parsed. Only the author of the workflow knows their types. */
export function stateOf<Output, Input>({ input, output, ...rest }: InstanceView): WorkflowState<Output, Input> {
  const values = {
    ...(input === undefined ? undefined : { input: valueOfText(input) }),
    ...(output === undefined ? undefined : { output: valueOfText(output) }),
  };
  return { ...rest, ...(values as { readonly input?: Input; readonly output?: Output }) };
}
