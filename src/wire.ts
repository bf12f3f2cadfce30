/** Which set of names the HTTP API speaks: ours, or Dapr's for its unmodified clients. @public */
export type WireName = 'sidecar' | 'dapr';

/** All literals of the HTTP API that name a brand, and all rules in which the two wires differ. */
export interface Wire {
  readonly name: WireName;
  /** Path on which the application lists its subscriptions. */
  readonly subscribePath: string;
  /** Path on which the application says which actor types it hosts. */
  readonly configPath: string;
  readonly headers: {
    readonly appId: string;
    readonly apiToken: string;
    readonly callerAppId: string;
    readonly callerNamespace: string;
    readonly calleeAppId: string;
    /** The token by which one sidecar proves to another who it is. */
    readonly identity: string;
    /** Marks the calls of a sidecar, which are not those of the application. */
    readonly peer: string;
    /** Prefix of the headers that name the origin of a dead letter. */
    readonly deadLetter: string;
  };
  /** CloudEvent `type` of a wrapped message. */
  readonly eventType: string;
  /** `type` of a bulk delivery. */
  readonly bulkEventType: string;
  /** `domain` of error details. */
  readonly errorDomain: string;
  /** Put before the reason of error details. */
  readonly reasonPrefix: 'SIDECAR_' | 'DAPR_';
  /** Key in metadata `extended` that holds the runtime's version. */
  readonly runtimeVersionKey: string;
  /** Prefix of environment variables. */
  readonly environmentPrefix: string;
  /** `bulkSubscribe` opts in only with `enabled: true`. */
  readonly bulkSubscribeNeedsEnabled: boolean;
  /** A raw-payload subscription receives a CloudEvent with `data_base64` in place of the bytes. */
  readonly rawPayloadAsEvent: boolean;
  /** A JSON object that is no CloudEvent is delivered as it is to a subscription that does not ask for raw payloads. */
  readonly rawObjectAsEvent: boolean;
  /** A published body of a media type that is not known is text if it is UTF-8. */
  readonly takesText: boolean;
  /** `metadata.cloudevent.tracestate` of a publish is kept in the event also when no `traceparent` goes with it. */
  readonly keepsLoneTracestate: boolean;
  /** The application's time limit for a delivery and for a run of a job, unless the options say so; 0 for none. */
  readonly appTimeLimitMs: number;
  /** Keys of JSON from the application, and names of envelope attributes in metadata, are understood in any case. */
  readonly keysInAnyCase: boolean;
  readonly jobs: JobRules;
  readonly workflows: WorkflowRules;
  readonly actorRules: ActorRules;
  /** Prefix of the names of the runtime's own actor types. */
  readonly actorTypePrefix: string;
  /** The keys that identify a failed entry of a bulk publish; Dapr's own client reads the second. */
  readonly failedEntryKeys: readonly string[];
  /** Serves the shutdown route, and answers for Dapr's APIs that are not supported. */
  readonly extraRoutes: boolean;
  /** Additional path versions of operations. */
  readonly aliases: Readonly<Record<'bulkPublish' | 'jobs' | 'workflows', readonly string[]>>;
  /** The capability, in metadata, of a state store with transactions. */
  readonly transactionCapability: string;
  /** An ETag in a body may be an object with the member `value`, as the types of Dapr's client have it. */
  readonly etagsMayBeObjects: boolean;
}

/** How the jobs API reads requests, plans runs and answers. */
export interface JobRules {
  /** Bodies are read like protobuf's JSON: numbers may be text, empty objects count as unset. */
  readonly lenientBodies: boolean;
  /** The greatest count in a body: `repeats`, `maxRetries`. */
  readonly maxCount: number;
  /** The zone of a schedule that names none. */
  readonly defaultZone: 'UTC' | 'local';
  /** A `ttl` that is a duration counts from `dueTime`, when there is one; else from the creation. */
  readonly ttlFromDueTime: boolean;
  /** A job with a `dueTime` in the past has missed its ticks since then; else it begins now. */
  readonly keepsPastDueTime: boolean;
  /** `@every 0s` with `repeats` means so many runs at once; else it is refused. */
  readonly zeroIntervalIsNow: boolean;
  /** Whether one run stands for all missed ticks, or each is run, unless the options say so. */
  readonly missedTicks: 'once' | 'all';
  /** The failure policy in the answer of a read: `given` is that of the job, if it has one. */
  readonly policyAnswer: (given: JobPolicy | undefined, byDefault: JobPolicy) => object;
}

/** A failure policy of jobs. */
export type JobPolicy =
  | { readonly constant: { readonly maxRetries?: number; readonly interval?: string } }
  | { readonly drop: object };

/** How the workflow API names things. */
export interface WorkflowRules {
  /** The name of the engine's component in paths. */
  readonly component: string;
  /** Put before the keys of an instance's properties. */
  readonly propertyPrefix: string;
  /** An empty `instanceID` of a start counts as none. */
  readonly emptyIdIsNone: boolean;
  /** The name of the workflow in the answer of a read. */
  readonly nameAnswer: (name: string) => object;
}

/** How the actors API answers and calls. */
export interface ActorRules {
  /** A type that nobody hosts is a failure of the call, not an address that there is not. */
  readonly isUnknownTypeFailure: boolean;
  /** Metadata have the state of the actor runtime. */
  readonly hasRuntimeInMetadata: boolean;
  /** The header of the chain of calls that a call belongs to. */
  readonly chainHeader: string;
  /** The header of an answer to a reminder or timer by which none is to follow. */
  readonly cancelHeader: string;
  /** Further header fields of calls that came over the API. */
  readonly callHeaders: Readonly<Record<string, string>>;
}

const MAX_INT32 = 2 ** 31 - 1;
const MAX_UINT32 = 2 ** 32 - 1;

const wires: Readonly<Record<WireName, Wire>> = {
  sidecar: {
    name: 'sidecar',
    subscribePath: '/sidecar/subscribe',
    configPath: '/sidecar/config',
    headers: headersWith('sidecar'),
    eventType: 'com.sidecar.event.sent',
    bulkEventType: 'com.sidecar.event.sent.bulk',
    errorDomain: 'insidecar',
    reasonPrefix: 'SIDECAR_',
    runtimeVersionKey: 'sidecarRuntimeVersion',
    environmentPrefix: 'SIDECAR_',
    bulkSubscribeNeedsEnabled: false,
    rawPayloadAsEvent: false,
    rawObjectAsEvent: false,
    takesText: false,
    keepsLoneTracestate: false,
    appTimeLimitMs: 60_000,
    keysInAnyCase: false,
    jobs: {
      lenientBodies: false,
      maxCount: MAX_INT32,
      defaultZone: 'local',
      ttlFromDueTime: false,
      keepsPastDueTime: false,
      zeroIntervalIsNow: false,
      missedTicks: 'once',
      policyAnswer: (given) => ({ failure_policy: given && snakeCasePolicy(given) }),
    },
    failedEntryKeys: ['entryId'],
    extraRoutes: false,
    workflows: {
      component: 'sidecar',
      propertyPrefix: 'sidecar.workflow',
      emptyIdIsNone: false,
      nameAnswer: () => ({}),
    },
    actorRules: {
      isUnknownTypeFailure: false,
      hasRuntimeInMetadata: false,
      chainHeader: 'sidecar-reentrancy-id',
      cancelHeader: 'x-sidecarremindercancel',
      callHeaders: {},
    },
    actorTypePrefix: 'sidecar.internal',
    aliases: { bulkPublish: [], jobs: [], workflows: [] },
    transactionCapability: 'TRANSACTION',
    etagsMayBeObjects: false,
  },
  dapr: {
    name: 'dapr',
    subscribePath: '/dapr/subscribe',
    configPath: '/dapr/config',
    headers: headersWith('dapr'),
    eventType: 'com.dapr.event.sent',
    bulkEventType: 'com.dapr.event.sent.bulk',
    errorDomain: 'dapr.io',
    reasonPrefix: 'DAPR_',
    runtimeVersionKey: 'daprRuntimeVersion',
    environmentPrefix: 'DAPR_',
    bulkSubscribeNeedsEnabled: true,
    rawPayloadAsEvent: true,
    rawObjectAsEvent: true,
    takesText: true,
    keepsLoneTracestate: true,
    appTimeLimitMs: 0,
    keysInAnyCase: true,
    jobs: {
      lenientBodies: true,
      maxCount: MAX_UINT32,
      defaultZone: 'UTC',
      ttlFromDueTime: true,
      keepsPastDueTime: true,
      zeroIntervalIsNow: true,
      missedTicks: 'all',
      policyAnswer: (given, byDefault) => ({ failurePolicy: given ?? byDefault }),
    },
    failedEntryKeys: ['entryId', 'entryID'],
    extraRoutes: true,
    workflows: {
      component: 'dapr',
      propertyPrefix: 'dapr.workflow',
      emptyIdIsNone: true,
      nameAnswer: (workflowName) => ({ workflowName }),
    },
    actorRules: {
      isUnknownTypeFailure: true,
      hasRuntimeInMetadata: true,
      chainHeader: 'dapr-reentrancy-id',
      cancelHeader: 'x-daprremindercancel',
      callHeaders: { 'dapr-api-call': 'true' },
    },
    actorTypePrefix: 'dapr.internal',
    aliases: { bulkPublish: ['v1.0-alpha1'], jobs: ['v1.0'], workflows: ['v1.0-beta1', 'v1.0-alpha1'] },
    transactionCapability: 'TRANSACTIONAL',
    etagsMayBeObjects: true,
  },
};

function headersWith(prefix: string): Wire['headers'] {
  return {
    appId: `${prefix}-app-id`,
    apiToken: `${prefix}-api-token`,
    callerAppId: `${prefix}-caller-app-id`,
    callerNamespace: `${prefix}-caller-namespace`,
    calleeAppId: `${prefix}-callee-app-id`,
    identity: `${prefix}-identity`,
    peer: `${prefix}-peer`,
    deadLetter: `${prefix}-dead-letter-`,
  };
}

function snakeCasePolicy(policy: JobPolicy): JobPolicy | { readonly constant: object } {
  if ('drop' in policy) return policy;
  const { maxRetries: max_retries, interval } = policy.constant;
  return { constant: { max_retries, interval } };
}

/** The names of one wire. */
export function wireNames(name: WireName): Wire {
  return wires[name];
}
