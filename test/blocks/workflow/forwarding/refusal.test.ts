import { expect, test } from 'vitest';
import { refusalOf } from '../../../../src/blocks/workflow/forwarding/refusal.ts';
import { type ErrorCode, SidecarError } from '../../../../src/index.ts';

test.each<[work: 'start' | 'eventRaised' | 'terminated', code: ErrorCode, isRefusal: boolean]>([
  ['start', 'ERR_START_WORKFLOW', true],
  ['start', 'ERR_INSTANCE_ID_NOT_FOUND', false],
  ['eventRaised', 'ERR_INSTANCE_ID_NOT_FOUND', true],
  // The turn of a start that was refused: the event is for the instance that has the ID.
  ['eventRaised', 'ERR_START_WORKFLOW', false],
  ['terminated', 'ERR_START_WORKFLOW', false],
  ['eventRaised', 'ERR_SHUTTING_DOWN', false],
])('%s is refused with %s: %s', (type, code, isRefusal) => {
  const message = 'what is wrong';
  const refused = { is: 'refused', code, message };
  expect(refusalOf(new SidecarError(code, message), { type })).toEqual(isRefusal ? refused : undefined);
});

test('another error is no refusal', () => {
  expect(refusalOf(new Error('the disk is on fire'), { type: 'start' })).toBeUndefined();
});
