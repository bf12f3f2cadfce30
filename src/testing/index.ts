/**
 * Tools for tests of applications.
 *
 * @packageDocumentation
 */

export type { Replacement } from '../blocks/workflow/model/definition.ts';
export type { RequestParts as TestRequestParts } from '../http/message.ts';
export {
  type ActivityStandIn,
  type HasActivities,
  type ReplaceableActivity,
  replaceActivities,
} from './replace-activities.ts';
export { testRequest } from './test-request.ts';
export { type VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
