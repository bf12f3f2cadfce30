/**
 * A sidecar runtime inside your own Node process.
 *
 * @packageDocumentation
 */
export { type ExpressMiddleware, expressHandler } from './adapters/express.ts';
export { type FallthroughFetchHandler, type FetchHandler, fetchHandler } from './adapters/fetch.ts';
export { type KoaContextLike, type KoaMiddleware, koaHandler } from './adapters/koa.ts';
export { type NodeListener, nodeListener } from './adapters/node.ts';
export type { AppTarget, CallbackApp } from './app/channel.ts';
export type { FetchApp } from './app/fetch-app.ts';
export type { RequestListener } from './app/in-process.ts';
export type { Health } from './blocks/health/health.ts';
export type { Job, JobFailurePolicy, JobHandler, JobOptions, JobRun } from './blocks/jobs/job.ts';
export type { Jobs } from './blocks/jobs/jobs.ts';
export type { JobsOptions } from './blocks/jobs/make-jobs.ts';
export type {
  AppConnectionMetadata,
  ComponentMetadata,
  Metadata,
  MetadataDocument,
  SubscriptionMetadata,
} from './blocks/metadata/metadata.ts';
export type {
  BulkPublishEntry,
  BulkPublishOptions,
  PublishOptions,
  SubscribeOptionsInCode,
  Subscription,
} from './blocks/pubsub/publish-options.ts';
export type { PubSub } from './blocks/pubsub/pubsub.ts';
export type {
  BulkSubscribeOptions,
  DeliveryContext,
  MessageHandler,
  ProcessingStatus,
  RetryOptions,
  RouteRule,
  SubscriptionOptions,
} from './blocks/pubsub/subscription.ts';
export type { ComponentContext, ComponentDefinition } from './components/component.ts';
export { type DurablePubSubOptions, durablePubSub } from './components/durable/durable-pubsub.ts';
export { type MemoryPubSubOptions, memoryPubSub } from './components/memory/memory-pubsub.ts';
export { memoryStore } from './components/memory/memory-store.ts';
export type {
  ComponentSubscription,
  Delivery,
  Message,
  PublishFailure,
  PubSubComponent,
  PubSubDefinition,
  SubscribeOptions,
  TopicScopes,
  Trace,
} from './components/pubsub.ts';
export {
  type ErrorCode,
  type ErrorDetails,
  type FailedEntry,
  isSidecarError,
  type SchedulerErrorCode,
  SidecarError,
  type SidecarErrorOptions,
} from './errors.ts';
export type { DeliveryInfo, JobRunInfo, MessageInfo, SidecarEventEmitter, SidecarEvents } from './events.ts';
export {
  type AdapterOptions,
  type Body,
  type Handler,
  type HeaderMap,
  type RequestHandler,
  type RequestParts,
  request,
  type SidecarRequest,
  type SidecarResponse,
} from './http/message.ts';
export type { AppOptions, SidecarOptions } from './options.ts';
export { Sidecar } from './sidecar.ts';
export { ConflictError, isConflict, isStateError, StateError, type StateErrorKind } from './state/errors.ts';
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
  type StateStore,
} from './state/store.ts';
export { type Activity, type Clock, systemClock, type Timer } from './util/clock.ts';
export type { Logger } from './util/logger.ts';
export type { WireName } from './wire.ts';
