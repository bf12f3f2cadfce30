/**
 * What tests of applications and of adapters and components use.
 *
 * @packageDocumentation
 */
export { VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
