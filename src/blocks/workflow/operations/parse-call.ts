import { SidecarError } from '../../../errors.ts';
import { readInstant } from '../../../util/duration.ts';
import { nameOfKind } from '../../../util/known-fields.ts';
import { checkPayload } from '../../../util/payload-limit.ts';
import { checkStartOptions, type WorkflowStartOptions } from '../model/definition.ts';
import { checkInstanceId } from '../model/instance-id.ts';
import type { Payload } from '../model/payload.ts';
import type { Start } from './operations.ts';

/** Checks of the arguments of workflow operations. */

/** The longest names of workflows and events, in characters. */
const MAX_NAME_LENGTH = 256;

/** A payload as it is stored: empty text counts as none. */
export function checkInput(text: Payload, what: string): Payload {
  return text === '' ? undefined : checkPayload(text, what);
}

function checkWorkflowName(name: string): void {
  if (name === '') throw new SidecarError('ERR_WORKFLOW_NAME_MISSING', 'workflow name is empty');
  if (name.length > MAX_NAME_LENGTH) throw tooLong('ERR_WORKFLOW_NAME_INVALID', 'workflow', name);
}

export function checkEventName(name: string): void {
  if (typeof name !== 'string')
    throw new SidecarError('ERR_WORKFLOW_EVENT_NAME_INVALID', `event name is ${nameOfKind(name)}: expected a string`);
  if (name === '') throw new SidecarError('ERR_WORKFLOW_EVENT_NAME_MISSING', 'event name is empty');
  if (name.length > MAX_NAME_LENGTH) throw tooLong('ERR_WORKFLOW_EVENT_NAME_INVALID', 'event', name);
}

function tooLong(
  code: 'ERR_WORKFLOW_NAME_INVALID' | 'ERR_WORKFLOW_EVENT_NAME_INVALID',
  what: string,
  name: string,
): SidecarError {
  const shown = JSON.stringify(name.slice(0, MAX_NAME_LENGTH));
  return new SidecarError(
    code,
    `${what} name ${shown}… has ${name.length} characters: at most ${MAX_NAME_LENGTH} are accepted`,
  );
}

/** Checks a start. `newId` makes the ID if none is given. */
export function parseStart(
  { name, input }: Pick<Start, 'name' | 'input'>,
  options: WorkflowStartOptions,
  newId: () => string,
): Start {
  checkStartOptions(options);
  const { instanceId = newId(), ifExists = 'fail', startAt = 0 } = options;
  checkWorkflowName(name);
  checkInstanceId(instanceId);
  const at = Math.ceil(readInstant(startAt) ?? 0);
  return { instanceId, name, input: checkInput(input, 'the input of the workflow'), startAt: at, ifExists };
}
