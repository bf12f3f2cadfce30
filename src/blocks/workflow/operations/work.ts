import type { IncomingEvent } from '../model/events.ts';
import type { Start } from './operations.ts';

/** An event that comes from outside. */
export type OutsideEvent = Extract<
  IncomingEvent,
  { type: 'eventRaised' | 'cancelRequested' | 'terminated' | 'suspended' | 'resumed' }
>;

/** The work that can be asked for at an instance. */
export type InstanceWork = ({ readonly type: 'start' } & Omit<Start, 'instanceId'>) | OutsideEvent;
