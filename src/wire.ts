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
  /** Further versions under which operations answer, by the version of the API document. */
  readonly aliases: Readonly<Record<'bulkPublish' | 'jobs', readonly string[]>>;
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
    aliases: { bulkPublish: [], jobs: [] },
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
    aliases: { bulkPublish: ['v1.0-alpha1'], jobs: ['v1.0'] },
  },
};

function headersWith(prefix: string): Wire['headers'] {
  return {
    appId: `${prefix}-app-id`,
    apiToken: `${prefix}-api-token`,
    callerAppId: `${prefix}-caller-app-id`,
    callerNamespace: `${prefix}-caller-namespace`,
    calleeAppId: `${prefix}-callee-app-id`,
  };
}

/** The names of one wire. */
export function wireNames(name: WireName): Wire {
  return wires[name];
}
