/**
 * What tests of applications and of adapters and components use.
 *
 * @packageDocumentation
 */

export { type PubSubCase, type PubSubNeed, pubSubConformance } from './pubsub-conformance.ts';
export { VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
