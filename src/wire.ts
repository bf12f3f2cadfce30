/** Which set of names the HTTP API speaks: ours, or Dapr's for its unmodified clients. @public */
export type WireName = 'sidecar' | 'dapr';

/** Every literal of the HTTP API that carries a brand, and the few rules in which the two sets differ. */
export interface Wire {
  readonly name: WireName;
  /** Path on which the application tells its subscriptions. */
  readonly subscribePath: string;
  readonly headers: {
    readonly appId: string;
    readonly apiToken: string;
    readonly callerAppId: string;
    readonly callerNamespace: string;
    readonly calleeAppId: string;
    /** The token by which one sidecar proves to another who it is. */
    readonly identity: string;
    /** A sidecar without keys says by it that it is one. */
    readonly peer: string;
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
  /** The name of the workflow engine's component in paths. */
  readonly workflowComponent: string;
  /** Put before the keys of a workflow instance's properties. */
  readonly workflowPropertyPrefix: string;
  /** The keys by which a failed entry of a bulk publish is told; Dapr's own client looks for the second. */
  readonly failedEntryKeys: readonly string[];
  /** Serves what Dapr's clients expect beside the API that both share: shutdown, and word of what there is not. */
  readonly extraRoutes: boolean;
  /** Further versions under which operations answer, by the version of the API document. */
  readonly aliases: Readonly<Record<'bulkPublish' | 'jobs' | 'workflows', readonly string[]>>;
}

const wires: Readonly<Record<WireName, Wire>> = {
  sidecar: {
    name: 'sidecar',
    subscribePath: '/sidecar/subscribe',
    headers: headersWith('sidecar'),
    eventType: 'com.sidecar.event.sent',
    bulkEventType: 'com.sidecar.event.sent.bulk',
    errorDomain: 'insidecar',
    reasonPrefix: 'SIDECAR_',
    runtimeVersionKey: 'sidecarRuntimeVersion',
    environmentPrefix: 'SIDECAR_',
    bulkSubscribeNeedsEnabled: false,
    rawPayloadAsEvent: false,
    failedEntryKeys: ['entryId'],
    extraRoutes: false,
    workflowComponent: 'sidecar',
    workflowPropertyPrefix: 'sidecar.workflow',
    aliases: { bulkPublish: [], jobs: [], workflows: [] },
  },
  dapr: {
    name: 'dapr',
    subscribePath: '/dapr/subscribe',
    headers: headersWith('dapr'),
    eventType: 'com.dapr.event.sent',
    bulkEventType: 'com.dapr.event.sent.bulk',
    errorDomain: 'dapr.io',
    reasonPrefix: 'DAPR_',
    runtimeVersionKey: 'daprRuntimeVersion',
    environmentPrefix: 'DAPR_',
    bulkSubscribeNeedsEnabled: true,
    rawPayloadAsEvent: true,
    failedEntryKeys: ['entryId', 'entryID'],
    extraRoutes: true,
    workflowComponent: 'dapr',
    workflowPropertyPrefix: 'dapr.workflow',
    aliases: { bulkPublish: ['v1.0-alpha1'], jobs: ['v1.0'], workflows: ['v1.0-beta1', 'v1.0-alpha1'] },
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
  };
}

/** The names of one wire. */
export function wireNames(name: WireName): Wire {
  return wires[name];
}
