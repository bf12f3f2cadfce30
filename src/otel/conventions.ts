/**
 * Names of attributes and metrics: those of OpenTelemetry's semantic conventions 1.44 for HTTP and messaging, and our
 * own. They stand here because the package of conventions changes those of messaging in minor releases.
 */
export const ATTRIBUTE = {
  appId: 'insidecar.app.id',
  pubsubName: 'insidecar.pubsub.name',
  outcome: 'insidecar.outcome',
  attempt: 'insidecar.attempt',
  queueState: 'insidecar.queue.state',
  actorType: 'insidecar.actor.type',
  actorId: 'insidecar.actor.id',
  actorMethod: 'insidecar.actor.method',
  bindingName: 'insidecar.binding.name',
  jobName: 'insidecar.job.name',
  jobHandler: 'insidecar.job.handler',
  jobDueAt: 'insidecar.job.due_at',
  workflowName: 'insidecar.workflow.name',
  workflowId: 'insidecar.workflow.instance_id',
  workflowStatus: 'insidecar.workflow.status',
  activityName: 'insidecar.activity.name',
  activityId: 'insidecar.activity.id',
  targetType: 'insidecar.target.type',
  target: 'insidecar.target',
  policy: 'insidecar.policy',
  endpoint: 'insidecar.endpoint',
  storeBlock: 'insidecar.store.block',
  storeName: 'insidecar.store.name',
  storeAction: 'insidecar.store.action',
  batchCount: 'messaging.batch.message_count',
  group: 'messaging.consumer.group.name',
  topic: 'messaging.destination.name',
  messageBytes: 'messaging.message.body.size',
  messageId: 'messaging.message.id',
  messagingOperation: 'messaging.operation.name',
  messagingType: 'messaging.operation.type',
  messagingSystem: 'messaging.system',
  errorType: 'error.type',
  httpMethod: 'http.request.method',
  httpResends: 'http.request.resend_count',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  peer: 'service.peer.name',
  serverAddress: 'server.address',
  urlPath: 'url.path',
  urlScheme: 'url.scheme',
} as const;

/** The value of `messaging.system`. */
export const MESSAGING_SYSTEM = 'insidecar';

/** The error type of what has no better name. */
export const OTHER_ERROR = '_OTHER';

/** Methods by which spans and metrics are told apart; others are `_OTHER`, since callers invent any. */
export const HTTP_METHODS: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'QUERY',
  'TRACE',
]);

/** Bounds of histograms of durations, in seconds, as the conventions for HTTP advise. */
export const DURATION_BOUNDS_S: number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
