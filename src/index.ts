/**
 * A sidecar runtime inside your own Node process.
 *
 * @packageDocumentation
 */
export { type ExpressMiddleware, expressHandler } from './adapters/express.ts';
export { type FastifySidecarPlugin, fastifyPlugin } from './adapters/fastify.ts';
export { type FallthroughFetchHandler, type FetchHandler, fetchHandler } from './adapters/fetch.ts';
export { type KoaMiddleware, koaHandler } from './adapters/koa.ts';
export { type NodeHandler, nodeHandler } from './adapters/node.ts';
export type { AppTarget, CallbackApp, RoutingApp } from './app/channel.ts';
export type { FetchApp } from './app/fetch-app.ts';
export type { AppHealthOptions } from './app/health.ts';
export type { RequestListener } from './app/in-process.ts';
export { Actor, type ActorClass, type ActorOf, type CallableName } from './blocks/actors/actor.ts';
export type { ActiveActorInfo, ActorCallOptions, ActorOptions, Actors } from './blocks/actors/actors.ts';
export type {
  ActorReminderOptions,
  ActorReminders,
  ActorTickContext,
  ActorTimerOptions,
  ActorTimers,
} from './blocks/actors/reminders/in-code.ts';
export type { ActorReminder, ActorReminderInfo } from './blocks/actors/reminders/reminder-info.ts';
export type { ReminderListOptions, ReminderPage, Reminders } from './blocks/actors/reminders/reminders.ts';
export type { BindingEventContext, BindingHandler, BindingHandlerOptions } from './blocks/bindings/binding-handler.ts';
export type { BindingCall, BindingInput, BindingReply, Bindings } from './blocks/bindings/bindings.ts';
export type {
  Configuration,
  ConfigurationChange,
  ConfigurationReadOptions,
  ConfigurationWatchingOptions,
} from './blocks/configuration/configuration.ts';
export type { Health, HealthCheck, HealthState } from './blocks/health/health.ts';
export type { HttpEndpointOptions } from './blocks/invocation/endpoints.ts';
export type { Invocation, InvocationInit } from './blocks/invocation/invocation.ts';
export type { InvocationOptions } from './blocks/invocation/options.ts';
export type { InvocationReply } from './blocks/invocation/reply.ts';
export type { NameResolutionOptions } from './blocks/invocation/resolution/options.ts';
export type { Jobs } from './blocks/jobs/jobs.ts';
export {
  defineJob,
  type JobDefinition,
  type JobDefinitionOptions,
  type RecurringJobOptions,
  type ScheduledJobOptions,
} from './blocks/jobs/model/define-job.ts';
export type {
  DefinedJobOptions,
  Job,
  JobContext,
  JobHandler,
  JobInfo,
  JobListOptions,
  JobOptions,
  JobPage,
  JobRegistration,
  JobRetryOptions,
} from './blocks/jobs/model/job.ts';
export type { JobsOptions } from './blocks/jobs/options.ts';
export type { Lock, LockOptions, Locks } from './blocks/locks/locks.ts';
export type {
  AppConnectionMetadata,
  AppHealthMetadata,
  ComponentMetadata,
  Metadata,
  MetadataDocument,
  StateMetadata,
  SubscriptionMetadata,
  UnhandledMetadata,
} from './blocks/metadata/metadata.ts';
export type { PlacementOptions } from './blocks/placement/options.ts';
export type { HostInfo, Placement, PlacementHost, PlacementTable } from './blocks/placement/placement.ts';
export type { BulkContext, BulkHandler, BulkSubscribeEntry } from './blocks/pubsub/delivery/bulk-handler.ts';
export { defineSubscription, type SubscriptionDefinition } from './blocks/pubsub/delivery/define-subscription.ts';
export type { ReceivedEvent } from './blocks/pubsub/delivery/received-event.ts';
export type {
  SubscribeBulkOptions,
  SubscribeOptions,
  Subscription,
} from './blocks/pubsub/delivery/subscribe-options.ts';
export type {
  BulkSubscribeOptions,
  DeliveryContext,
  DeliveryLimits,
  MessageHandler,
  RouteRule,
  RouteSubscription,
  SubscriptionType,
  TopicContext,
  TopicHandler,
} from './blocks/pubsub/delivery/subscription.ts';
export type { QueueRef, SubscriptionInfo } from './blocks/pubsub/delivery/subscription-info.ts';
export type { DeadLetter, DeadLettersFilter } from './blocks/pubsub/operating/dead-letters.ts';
export type {
  DeadLetterFilter,
  ExplainedRule,
  ExplainedSubscription,
  MessageSelection,
  QueueInfo,
  QueuePage,
  QueuePageOptions,
  RedeliverOptions,
  RouteExplanation,
} from './blocks/pubsub/operating/queue-types.ts';
export type {
  BulkPublishEntry,
  BulkPublishOptions,
  PublishOptions,
} from './blocks/pubsub/publishing/publish-options.ts';
export { defineTopic, type TopicDefinition, type TopicOptions } from './blocks/pubsub/publishing/topic.ts';
export type { PubSub } from './blocks/pubsub/pubsub.ts';
export type { Queues } from './blocks/pubsub/queues.ts';
export type { SecretScope, SecretsOptions } from './blocks/secrets/options.ts';
export type { SecretReadOptions, Secrets } from './blocks/secrets/secrets.ts';
export type {
  DeleteOperation,
  SetStateOptions,
  State,
  StateFilter,
  StateItem,
  StateOperation,
  StateQuery,
  StateQueryPage,
  StateWriteOptions,
  UpdateStateOptions,
  UpsertOperation,
} from './blocks/state/state.ts';
export type {
  CallActivityOptions,
  CallChildOptions,
  ContinueAsNewOptions,
  MapOptions,
  WaitForEventOptions,
  WorkflowContext,
} from './blocks/workflow/model/context.ts';
export {
  defineEvent,
  type EventData,
  type EventDefinition,
  type EventOptions,
} from './blocks/workflow/model/define-event.ts';
export {
  type ActivityContext,
  type ActivityDefinition,
  type ActivityFunction,
  type ActivityLike,
  type ActivityOptions,
  defineActivity,
  defineWorkflow,
  type IfInstanceExists,
  type WorkflowDefinition,
  type WorkflowFunction,
  type WorkflowLike,
  type WorkflowStartOptions,
} from './blocks/workflow/model/definition.ts';
export {
  CanceledError,
  EventTimeoutError,
  TaskFailedError,
  type WorkflowFailure,
} from './blocks/workflow/model/failure.ts';
export type {
  WorkflowHistoryEvent,
  WorkflowHistoryResult,
  WorkflowInstanceInfo,
  WorkflowMissingCode,
  WorkflowState,
  WorkflowStatus,
} from './blocks/workflow/model/instance.ts';
export type {
  WorkflowBulkFailure,
  WorkflowBulkOptions,
  WorkflowBulkResult,
} from './blocks/workflow/operations/bulk.ts';
export type { WorkflowWaitOptions } from './blocks/workflow/operations/completions.ts';
export type { WorkflowFilter, WorkflowListOptions, WorkflowPage } from './blocks/workflow/operations/list.ts';
export type { WorkflowRerunOptions } from './blocks/workflow/operations/rerun.ts';
export type { WorkflowRetention, WorkflowsOptions } from './blocks/workflow/options.ts';
export type { WorkflowBulk } from './blocks/workflow/workflow-bulk.ts';
export { WorkflowFailedError, type WorkflowRun } from './blocks/workflow/workflow-run.ts';
export type { Workflows } from './blocks/workflow/workflows.ts';
export { sharedState } from './cluster/shared-state.ts';
export type { BindingDirection, BindingOptions } from './components/binding.ts';
export type { BrokerBindingOptions } from './components/broker/broker-binding.ts';
export type { BrokerOptions } from './components/broker/broker-pubsub.ts';
export type { ConfigurationItem } from './components/configuration-store.ts';
export { type CronBindingOptions, cronBinding } from './components/cron/cron-binding.ts';
export { type DurablePubSubOptions, durablePubSub } from './components/durable/durable-pubsub.ts';
export { httpBinding } from './components/http/http-binding.ts';
export type { HttpBindingOptions, HttpBindingTls, HttpBindingToken } from './components/http/http-binding-options.ts';
export { type KeyValueOptions, keyValueStore } from './components/key-value/index.ts';
export { durableLocks, type LocksOptions, memoryLocks } from './components/key-value/locks.ts';
export type { EncryptionKey, KeyPrefix, OutboxOptions, StateStoreOptions } from './components/key-value.ts';
export { type EnvironmentSecretsOptions, environmentSecrets } from './components/local/environment-secrets.ts';
export { type FileConfigurationOptions, fileConfiguration } from './components/local/file-configuration.ts';
export { type FileSecretsOptions, fileSecrets } from './components/local/file-secrets.ts';
export { type LocalStorageBindingOptions, localStorageBinding } from './components/local/local-storage-binding.ts';
export type { LockStoreOptions } from './components/lock-store.ts';
export {
  type MemoryConfiguration,
  type MemoryConfigurationOptions,
  memoryConfiguration,
} from './components/memory/memory-configuration.ts';
export { type MemoryPubSubOptions, memoryPubSub } from './components/memory/memory-pubsub.ts';
export { memoryState } from './components/memory/memory-store.ts';
export type { DeadLetterOrigin, Message, TopicScopes } from './components/pubsub.ts';
export type { MessageState, QueueEntry } from './components/queue-access.ts';
export type { StateCall } from './components/remote/observed-server.ts';
export type { DeadLetterRetention } from './components/retention.ts';
export type { TopicWildcards } from './components/topic-patterns.ts';
export {
  type ErrorCode,
  type ErrorDetails,
  type FailedEntry,
  type InvocationFailure,
  isSidecarError,
  type SchedulerErrorCode,
  SidecarError,
  type SidecarErrorOptions,
  type StateErrorCode,
} from './errors.ts';
export type {
  ActivityInfo,
  BindingEventInfo,
  DeliveryInfo,
  FailureInfo,
  InvocationInfo,
  JobRunInfo,
  MessageInfo,
  SidecarEventSource,
  SidecarEvents,
  WorkflowFailureInfo,
  WorkflowInfo,
} from './events.ts';
export type { AdapterOptions } from './http/message.ts';
export type { Telemetry } from './probe.ts';
export type { BreakerState } from './resiliency/breaker.ts';
export type {
  ActorPolicies,
  AppPolicies,
  CircuitBreakerOptions,
  ComponentPolicies,
  ResiliencyRetry,
  ResiliencySpec,
  TargetPolicies,
} from './resiliency/options.ts';
export type { BreakerInfo } from './resiliency/policy.ts';
export type { CircuitBreakerChange } from './resiliency/resiliency.ts';
export type { AccessAction, AccessControlOptions, AccessOperation, AccessPolicy } from './security/access-options.ts';
export type { ApiOptions, ApiRule } from './security/api-list.ts';
export type { CorsOptions } from './security/cors.ts';
export type { IdentityKey, IdentityOptions, KeyPair, SharedKey } from './security/identity-options.ts';
export type { AppOptions } from './sidecar/app-options.ts';
export type { DaprOptions, SidecarOptions } from './sidecar/options.ts';
export type { Definition } from './sidecar/register.ts';
export { type ClosableServer, runUntilSignal } from './sidecar/run-until-signal.ts';

export { Sidecar } from './sidecar/sidecar.ts';
export { isStateError, StateError, type StateErrorKind } from './state/errors.ts';
export type { IfJobExists, JobOutcome } from './timed/job.ts';
export type { Duration, Instant } from './util/duration.ts';
export { parseDuration } from './util/duration-option.ts';
export type { JsonInput, Jsonify } from './util/jsonify.ts';
export type { Logger } from './util/logger.ts';
export type { Rate } from './util/rate.ts';
export type { RetryInfo, RetryOptions } from './util/retry-options.ts';
export type { RunLimits } from './util/run-limits.ts';
export type { SchemaIssue, SchemaResult, StandardSchema } from './util/standard-schema.ts';
export type { WireName } from './wire.ts';
