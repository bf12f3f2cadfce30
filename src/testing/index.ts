/**
 * Tools for tests of applications, adapters and components.
 *
 * @packageDocumentation
 */

export type { ActivityContext, ActivityFunction, Replacement } from '../blocks/workflow/model/definition.ts';
export type { OpenStore } from '../components/component.ts';
export type {
  KeyedValue,
  KeyValueOperation,
  KeyValueOutbox,
  KeyValueStore,
  OutboxEvent,
  OutboxPage,
  PutValue,
  RemoveValue,
  StoredValue,
  WriteCondition,
  WriteOptions,
  WriteOutcome,
} from '../components/key-value.ts';
export type {
  ComponentSubscription,
  ConsumerOptions,
  DeadLetterOrigin,
  Delivery,
  Message,
  PublishFailure,
  PubSubComponent,
  Trace,
} from '../components/pubsub.ts';
export type {
  AbandonedQueue,
  GroupQueue,
  MessageState,
  QueueAccess,
  QueueEntry,
  QueueEntryPage,
  QueueRead,
  QueueSelection,
  QueueStatus,
  Redelivery,
} from '../components/queue-access.ts';
export type {
  AdapterOptions,
  Body,
  Handler,
  HeaderMap,
  RequestHandler,
  SidecarRequest,
  SidecarResponse,
} from '../http/message.ts';
export type {
  Batch,
  Entry,
  KeyedEntry,
  KeyRange,
  Precondition,
  Put,
  Scan,
  StateDurability,
  StateStore,
} from '../state/store.ts';
export type { Activity, Clock, Timer } from '../util/clock.ts';
export type { Duration, Instant } from '../util/duration.ts';
export type {
  AdapterCase,
  AdapterNeed,
  BodyParser,
  MountAdapter,
  MountedAdapter,
  MountOptions,
} from './adapter-case.ts';
export { adapterConformance } from './adapter-conformance.ts';
export type { KeyValueCase, KeyValueNeed, KeyValueUnderTest } from './key-value-case.ts';
export { keyValueConformance } from './key-value-conformance.ts';
export type { PubSubCase, PubSubNeed } from './pubsub-case.ts';
export { pubSubConformance } from './pubsub-conformance.ts';
export {
  type ActivityStandIn,
  type HasActivities,
  type ReplaceableActivity,
  replaceActivities,
} from './replace-activities.ts';
export type { StoreCase, StoreNeed } from './store-case.ts';
export { stateStoreConformance } from './store-conformance.ts';
export { VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
