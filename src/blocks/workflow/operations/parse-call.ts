import { type ErrorCode, SidecarError } from '../../../errors.ts';
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
  if (name === '') throw invalidName('workflow', 'is empty', 'ERR_WORKFLOW_NAME_MISSING');
  if (name.length > MAX_NAME_LENGTH) throw invalidName('workflow', tooLong(name), 'ERR_WORKFLOW_NAME_INVALID');
}

export function checkEventName(name: string): void {
  if (typeof name !== 'string')
    throw invalidName('event', `is ${nameOfKind(name)}: expected a string`, 'ERR_WORKFLOW_EVENT_NAME_INVALID');
  if (name === '') throw invalidName('event', 'is empty', 'ERR_WORKFLOW_EVENT_NAME_MISSING');
  if (name.length > MAX_NAME_LENGTH) throw invalidName('event', tooLong(name), 'ERR_WORKFLOW_EVENT_NAME_INVALID');
}

function tooLong(name: string): string {
  const shown = JSON.stringify(name.slice(0, MAX_NAME_LENGTH));
  return `${shown}… has ${name.length} characters: at most ${MAX_NAME_LENGTH} are accepted`;
}

/** Over HTTP it has the codes of the API. */
function invalidName(argument: 'workflow' | 'event', problem: string, wireCode: ErrorCode): SidecarError {
  return new SidecarError('ERR_INVALID_ARGUMENT', `${argument} name ${problem}`, { argument, wireCode });
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
