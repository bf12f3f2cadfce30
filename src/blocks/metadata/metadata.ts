import { SidecarError } from '../../errors.ts';
import type { StateDurability } from '../../state/store.ts';
import { invalidArgument } from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import type { Wire } from '../../wire.ts';

/** A loaded component. @public */
export interface ComponentMetadata {
  /** Its name. */
  readonly name: string;
  /** The kind and technology, such as `pubsub.in-memory`. */
  readonly type: string;
  /** The version of the component type. */
  readonly version: string;
  /** The capabilities of a state store or binding. */
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
  /** The topic for messages that cannot be processed; empty without one. */
  readonly deadLetterTopic: string;
  /** The origin: `DECLARATIVE`, `STREAMING` or `PROGRAMMATIC`. */
  readonly type: string;
  /** The consumer group within the app ID; absent for the unnamed one. */
  readonly group?: string;
  /** Why it was rejected; absent if it is active. */
  readonly error?: string;
}

/** The connection to the application. @public */
export interface AppConnectionMetadata {
  /** The application's port; absent if it runs in the same process. */
  readonly port?: number;
  /** `http`. */
  readonly protocol: string;
  /** Its host. */
  readonly channelAddress: string;
  /** Max concurrent requests; -1 for no limit. */
  readonly maxConcurrency: number;
  /** How its health is checked; absent without health checks. */
  readonly health?: AppHealthMetadata;
}

/** Health checks of the application. @public */
export interface AppHealthMetadata {
  /** The path of the probes. */
  readonly healthCheckPath: string;
  /** The interval of the probes, as a Go duration such as `5s`. */
  readonly healthProbeInterval: string;
  /** The timeout of a probe, as a Go duration. */
  readonly healthProbeTimeout: string;
  /** Consecutive failures after which it is unhealthy. */
  readonly healthThreshold: number;
}

/** Messages and jobs without a handler, since the sidecar was created. @public */
export interface UnhandledMetadata {
  /** Messages published to topics without subscribers; they are lost. */
  readonly messages?: readonly { readonly pubsubname: string; readonly topic: string; readonly count: number }[];
  /** Groups that have collected messages for ten minutes without a subscription, counted to 10,000. */
  readonly groups?: readonly {
    readonly pubsubname: string;
    readonly topic: string;
    readonly group: string;
    readonly count: number;
  }[];
  /** Jobs that were due without a function or application to run them, with the number of runs; they wait. */
  readonly jobs?: readonly { readonly name: string; readonly count: number }[];
}

/** The state store. @public */
export interface StateMetadata {
  /** The engine, such as `postgresql`. */
  readonly type: string;
  /** The failures that a resolved commit survives; `unknown` before the store is open. */
  readonly durability: StateDurability;
}

/** The response of the metadata operation. @public */
export interface MetadataDocument {
  /** The app ID. */
  readonly id: string;
  /** The version of this package. */
  readonly runtimeVersion: string;
  /** Features enabled by configuration. */
  readonly enabledFeatures: readonly string[];
  /** Registered actor types. */
  readonly actors: readonly { readonly type: string; readonly count: number }[];
  /** The state of actors, as Dapr tells it; only with `wire: 'dapr'`. */
  readonly actorRuntime?: {
    /** Always `RUNNING`. */
    readonly runtimeStatus: string;
    /** As `actors`. */
    readonly activeActors: readonly { readonly type: string; readonly count: number }[];
    /** Whether this host has actor types. */
    readonly hostReady: boolean;
    /** Always `placement: connected`: there is no service to connect to. */
    readonly placement: string;
  };
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
  /** Scheduler hosts that run the jobs; `in-process` for this process. */
  readonly scheduler: { readonly connected_addresses: readonly string[] };
  /** The workflow runtime. */
  readonly workflows: { readonly connectedWorkers: number };
  /** The state store; absent with state in memory, so that the document equals Dapr's. */
  readonly state?: StateMetadata;
  /** Messages and jobs without a handler; absent if there are none, so that the document equals Dapr's. */
  readonly unhandled?: UnhandledMetadata;
}

/** The block's access to the data of other blocks. */
export interface MetadataSources {
  readonly appId: string;
  readonly runtimeVersion: string;
  readonly features: readonly string[];
  readonly wire: Wire;
  readonly components: () => readonly ComponentMetadata[];
  readonly httpEndpoints: () => MetadataDocument['httpEndpoints'];
  readonly subscriptions: () => readonly SubscriptionMetadata[];
  readonly appConnection: () => AppConnectionMetadata;
  readonly schedulers: () => readonly string[];
  readonly actors: () => MetadataDocument['actors'];
  readonly connectedWorkers: () => number;
  readonly state: () => StateMetadata | undefined;
  readonly unhandled: () => UnhandledMetadata;
}

/** Max length of an attribute's value, in bytes of UTF-8. */
export const MAX_ATTRIBUTE_BYTES: number = 64 * 1024;
const MAX_ATTRIBUTES = 1_000;

/**
 * Information about the sidecar, and custom attributes, which are kept in memory only.
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

  /**
   * The current state of the sidecar. Empty lists are included.
   *
   * @example
   * ```ts
   * console.log(sidecar.metadata.get().subscriptions);
   * ```
   */
  get(): MetadataDocument {
    const { appId, runtimeVersion, wire, components, subscriptions, appConnection, schedulers, actors } = this.#sources;
    const state = this.#sources.state();
    const unhandled = this.#sources.unhandled();
    return {
      id: appId,
      runtimeVersion,
      enabledFeatures: this.#sources.features,
      actors: actors(),
      ...(wire.actorRules.hasRuntimeInMetadata ? { actorRuntime: runtimeOf(actors()) } : undefined),
      extended: Object.fromEntries([...this.#attributes, [wire.runtimeVersionKey, runtimeVersion]]),
      components: components(),
      httpEndpoints: this.#sources.httpEndpoints(),
      subscriptions: subscriptions(),
      appConnectionProperties: appConnection(),
      scheduler: { connected_addresses: schedulers() },
      workflows: { connectedWorkers: this.#sources.connectedWorkers() },
      ...(state === undefined ? {} : { state }),
      ...(Object.keys(unhandled).length === 0 ? {} : { unhandled }),
    };
  }

  /**
   * Sets a custom attribute, which is returned under `extended`.
   *
   * @throws SidecarError `ERR_BODY_TOO_LARGE` for a value of more than 64 KiB, `ERR_METADATA_LIMIT` for attribute
   * number 1,001, `ERR_NOT_FOUND` for an empty name.
   * @example
   * ```ts
   * sidecar.metadata.set('release', '2026-11-26');
   * ```
   */
  set(name: string, value: string): void {
    // In JavaScript it may be anything.
    if (typeof name !== 'string')
      throw invalidArgument(`the name of the attribute is ${shown(name)}: expected a text`, 'name');
    if (typeof value !== 'string')
      throw invalidArgument(`the value of attribute ${name} is ${shown(value)}: expected a text`, 'value');
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

function runtimeOf(activeActors: MetadataDocument['actors']): MetadataDocument['actorRuntime'] & object {
  const hostReady = activeActors.length > 0;
  return { runtimeStatus: 'RUNNING', activeActors, hostReady, placement: 'placement: connected' };
}
