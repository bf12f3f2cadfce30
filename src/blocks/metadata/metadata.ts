import { SidecarError } from '../../errors.ts';
import type { Wire } from '../../wire.ts';

/** A loaded component. @public */
export interface ComponentMetadata {
  /** Its name. */
  readonly name: string;
  /** The kind and technology, such as `pubsub.in-memory`. */
  readonly type: string;
  /** The version of the component type. */
  readonly version: string;
  /** What a state store or binding can do. */
  readonly capabilities: readonly string[];
}

/** A registered subscription. @public */
export interface SubscriptionMetadata {
  /** The pub/sub component. */
  readonly pubsubname: string;
  /** The topic. */
  readonly topic: string;
  /** Metadata for the component. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Routes in order; `match` of the default one is empty. */
  readonly rules: readonly { readonly match: string; readonly path: string }[];
  /** Where messages go that cannot be processed; empty for nowhere. */
  readonly deadLetterTopic: string;
  /** Where it came from: `DECLARATIVE`, `STREAMING` or `PROGRAMMATIC`. */
  readonly type: string;
  /** Its consumer group among those of the app ID; absent for the one without a name. */
  readonly group?: string;
  /** Why it was refused; absent for one that is active. */
  readonly error?: string;
}

/** The connection to the application. @public */
export interface AppConnectionMetadata {
  /** The port it listens on; absent for one in the same process. */
  readonly port?: number;
  /** `http`. */
  readonly protocol: string;
  /** Its host. */
  readonly channelAddress: string;
  /** The most requests at a time; -1 for no limit. */
  readonly maxConcurrency: number;
  /** How its health is checked; absent when it is not. */
  readonly health?: AppHealthMetadata;
}

/** How the health of the application is checked. @public */
export interface AppHealthMetadata {
  /** The path that is asked. */
  readonly healthCheckPath: string;
  /** How often, as a Go duration such as `5s`. */
  readonly healthProbeInterval: string;
  /** How long the answer may take, likewise. */
  readonly healthProbeTimeout: string;
  /** Failures in a row after which it is unhealthy. */
  readonly healthThreshold: number;
}

/** What came and was for nobody, since the sidecar was made. @public */
export interface UnhandledMetadata {
  /** Messages that were published to topics without subscribers, and are gone. */
  readonly messages?: readonly { readonly pubsubname: string; readonly topic: string; readonly count: number }[];
  /** Jobs that were due while no function and no application was there for them, and how many of their runs: they wait. */
  readonly jobs?: readonly { readonly name: string; readonly count: number }[];
}

/** What the metadata operation returns. @public */
export interface MetadataDocument {
  /** The app ID. */
  readonly id: string;
  /** The version of this package. */
  readonly runtimeVersion: string;
  /** Features that configuration switched on. */
  readonly enabledFeatures: readonly string[];
  /** Registered actor types. */
  readonly actors: readonly { readonly type: string; readonly count: number }[];
  /** Custom attributes. */
  readonly extended: Readonly<Record<string, string>>;
  /** Loaded components. */
  readonly components: readonly ComponentMetadata[];
  /** Loaded HTTP endpoint resources. */
  readonly httpEndpoints: readonly { readonly name: string }[];
  /** Registered subscriptions. */
  readonly subscriptions: readonly SubscriptionMetadata[];
  /** The connection to the application. */
  readonly appConnectionProperties: AppConnectionMetadata;
  /** Scheduler hosts that run the jobs: `in-process` for that of this process. */
  readonly scheduler: { readonly connected_addresses: readonly string[] };
  /** The workflow runtime. */
  readonly workflows: { readonly connectedWorkers: number };
  /** What was for nobody; absent when there is nothing, so that the document is Dapr's. */
  readonly unhandled?: UnhandledMetadata;
}

/** Where the block reads what other blocks have. */
export interface MetadataSources {
  readonly appId: string;
  readonly runtimeVersion: string;
  readonly wire: Wire;
  readonly components: () => readonly ComponentMetadata[];
  readonly httpEndpoints: () => MetadataDocument['httpEndpoints'];
  readonly subscriptions: () => readonly SubscriptionMetadata[];
  readonly appConnection: () => AppConnectionMetadata;
  readonly schedulers: () => readonly string[];
  readonly actors: () => MetadataDocument['actors'];
  readonly connectedWorkers: () => number;
  readonly unhandled: () => UnhandledMetadata;
}

/** The longest value of an attribute, in bytes of UTF-8. */
export const MAX_ATTRIBUTE_BYTES: number = 64 * 1024;
const MAX_ATTRIBUTES = 1_000;

/**
 * What the sidecar tells about itself, and custom attributes, which live in memory only.
 *
 * @public
 */
export class Metadata {
  readonly #sources: MetadataSources;
  readonly #attributes = new Map<string, string>();

  /** @internal */
  constructor(sources: MetadataSources) {
    this.#sources = sources;
  }

  /** The sidecar as it is now. Every list is there, empty when there is nothing in it. */
  get(): MetadataDocument {
    const { appId, runtimeVersion, wire, components, subscriptions, appConnection, schedulers, actors } = this.#sources;
    const unhandled = this.#sources.unhandled();
    return {
      id: appId,
      runtimeVersion,
      enabledFeatures: [],
      actors: actors(),
      extended: Object.fromEntries([...this.#attributes, [wire.runtimeVersionKey, runtimeVersion]]),
      components: components(),
      httpEndpoints: this.#sources.httpEndpoints(),
      subscriptions: subscriptions(),
      appConnectionProperties: appConnection(),
      scheduler: { connected_addresses: schedulers() },
      workflows: { connectedWorkers: this.#sources.connectedWorkers() },
      ...(Object.keys(unhandled).length === 0 ? {} : { unhandled }),
    };
  }

  /**
   * Sets a custom attribute, which then stands under `extended`.
   *
   * @throws SidecarError `ERR_BODY_TOO_LARGE` for a value of more than 64 KiB, `ERR_METADATA_LIMIT` for attribute
   * number 1,001, `ERR_NOT_FOUND` for an empty name.
   */
  set(name: string, value: string): void {
    if (name === '')
      throw new SidecarError('ERR_NOT_FOUND', 'attribute name is empty: expected /v1.0/metadata/<attributeName>');
    if (Buffer.byteLength(value) > MAX_ATTRIBUTE_BYTES) {
      throw new SidecarError(
        'ERR_BODY_TOO_LARGE',
        `value of attribute ${name} is too large: at most ${MAX_ATTRIBUTE_BYTES} bytes are accepted`,
      );
    }
    if (!this.#attributes.has(name) && this.#attributes.size >= MAX_ATTRIBUTES) {
      throw new SidecarError(
        'ERR_METADATA_LIMIT',
        `attribute ${name} is one too many: at most ${MAX_ATTRIBUTES} are accepted`,
      );
    }
    this.#attributes.set(name, value);
  }
}
