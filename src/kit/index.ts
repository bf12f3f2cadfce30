/**
 * For those who write stores, pub/sub components, bindings, adapters and clocks of their own: the types of these, and
 * suites that test them.
 *
 * @packageDocumentation
 */

export type { FastifyLike, FastifyReplyLike, FastifyRequestLike } from '../adapters/fastify.ts';
export type { KoaContextLike } from '../adapters/koa.ts';
export type { ShardChange, ShardHosts, Shards } from '../cluster/shards.ts';
export type { AnyComponentDefinition, AnyStoreDefinition } from '../components/any-component.ts';
export {
  type Binding,
  type BindingDefinition,
  BindingError,
  type BindingEvent,
  type BindingRequest,
  type BindingResponse,
  type DeliverBindingEvent,
} from '../components/binding.ts';
export type {
  ComponentContext,
  ComponentDefinition,
  OpenStore,
  StoreBlock,
  StoreDefinition,
} from '../components/component.ts';
export type {
  ConfigurationStore,
  ConfigurationStoreDefinition,
  ConfigurationWatch,
  ConfigurationWatchOptions,
} from '../components/configuration-store.ts';
export { type BindingOperation, type BindingParts, defineBinding } from '../components/define-binding.ts';
export type {
  KeyedValue,
  KeyScanPage,
  KeyValueDefinition,
  KeyValueOperation,
  KeyValueOutbox,
  KeyValueStore,
  OutboxEvent,
  OutboxPage,
  PutValue,
  RemoveValue,
  ScannedKey,
  StoredValue,
  WriteCondition,
  WriteOptions,
  WriteOutcome,
} from '../components/key-value.ts';
export type { LockStore, LockStoreDefinition, UnlockOutcome } from '../components/lock-store.ts';
export type {
  ComponentSubscription,
  ConsumerOptions,
  Delivery,
  DeliveryLimit,
  PublishFailure,
  PubSubComponent,
  PubSubDefinition,
  TopicUse,
  Trace,
} from '../components/pubsub.ts';
export type {
  AbandonedQueue,
  GroupQueue,
  QueueAccess,
  QueueEntryPage,
  QueueRead,
  QueueSelection,
  QueueStatus,
  Redelivery,
} from '../components/queue-access.ts';
export type { SecretStore, SecretStoreDefinition, SecretValues } from '../components/secret-store.ts';
export type { Body, Handler, HeaderMap, RequestHandler, SidecarRequest, SidecarResponse } from '../http/message.ts';
export { ConflictError, isConflictError } from '../state/errors.ts';
export {
  type Batch,
  type Entry,
  type KeyedEntry,
  type KeyRange,
  MAX_BATCH_BYTES,
  MAX_KEY_BYTES,
  MAX_VALUE_BYTES,
  type Precondition,
  type Put,
  type Scan,
  type StateContext,
  type StateDefinition,
  type StateDurability,
  type StateStore,
} from '../state/store.ts';
export { type Activity, type Clock, systemClock, type Timer } from '../util/clock.ts';
export type {
  AdapterCase,
  AdapterNeed,
  BodyParser,
  MountAdapter,
  MountedAdapter,
  MountOptions,
} from './adapter-case.ts';
export { adapterConformance } from './adapter-conformance.ts';
export type { BindingCase, BindingNeed, BindingTestCall, BindingUnderTest } from './binding-case.ts';
export { bindingConformance } from './binding-conformance.ts';
export type { KeyValueCase, KeyValueNeed, KeyValueUnderTest } from './key-value-case.ts';
export { keyValueConformance } from './key-value-conformance.ts';
export type { PubSubCase, PubSubNeed } from './pubsub-case.ts';
export { pubSubConformance } from './pubsub-conformance.ts';
export type { StoreCase, StoreNeed } from './store-case.ts';
export { stateStoreConformance } from './store-conformance.ts';
