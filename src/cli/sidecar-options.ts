import type { AnyComponentDefinition } from '../components/any-component.ts';
import type { ComponentContext } from '../components/component.ts';
import { durablePubSub } from '../components/durable/durable-pubsub.ts';
import { keyValueStore } from '../components/key-value/index.ts';
import type { KeyValueDefinition } from '../components/key-value.ts';
import type { LockStoreDefinition } from '../components/lock-store.ts';
import { memoryPubSub } from '../components/memory/memory-pubsub.ts';
import type { PubSubDefinition } from '../components/pubsub.ts';
import type { IdentityOptions } from '../security/identity-options.ts';
import type { SidecarOptions } from '../sidecar/options.ts';
import type { StateDefinition } from '../state/store.ts';
import type { Logger } from '../util/logger.ts';
import type { RunResources } from './resources.ts';
import type { RunTelemetry } from './run-telemetry.ts';
import { type AppSettings, given, type RunSettings } from './settings.ts';

/** The default components without resource files, like those made by `dapr init`. */
const DEFAULT_PUBSUB = 'pubsub';
const DEFAULT_STATE_STORE = 'statestore';

/** The components that all applications of a run may share. */
type Shareable = PubSubDefinition | KeyValueDefinition | LockStoreDefinition;

/**
 * The components of all applications of a run. The name of a pub/sub component, and of a store in memory, identifies
 * one, whichever application's files define it: messages reach all applications, as with a broker beside them.
 */
export class SharedComponents {
  readonly #byName = new Map<string, Shareable>();
  readonly #state: 'memory' | 'kept' | 'shared';

  /** @param state - where the state of the run is: `shared` with other runs */
  constructor(state: 'memory' | 'kept' | 'shared') {
    this.#state = state;
  }

  /** A definition with its own scopes and options, but on what the first one with the same name and type has opened. */
  share(definition: AnyComponentDefinition): AnyComponentDefinition {
    if ('onState' in definition && definition.onState !== undefined)
      return this.#share(this.#state === 'shared' ? definition.onState() : definition);
    // Other stores of equal names may be different ones, as those of two applications with their own files.
    return definition.block === undefined || definition.block === 'pubsub' ? this.#share(definition) : definition;
  }

  #share<D extends Shareable>(definition: D): D {
    const key = `${definition.type}/${definition.name}`;
    // The cast is safe: a type has one kind of definitions.
    const first = this.#byName.get(key) as D | undefined;
    if (first === undefined) {
      this.#byName.set(key, definition);
      return definition;
    }
    const expected = 'expected' in first ? given('expected', first.expected) : {};
    return { ...definition, ...expected, open: (context: ComponentContext) => first.open(context) };
  }

  /** The components of an application without resource files. */
  standard(): readonly AnyComponentDefinition[] {
    const pubsub = this.#state !== 'memory' ? durablePubSub(DEFAULT_PUBSUB) : memoryPubSub(DEFAULT_PUBSUB);
    return [this.#share(pubsub), keyValueStore(DEFAULT_STATE_STORE)];
  }
}

/** The parts of a sidecar, beside its settings. */
export interface HostedSidecar {
  readonly run: RunSettings;
  readonly state: StateDefinition;
  readonly components: SharedComponents;
  /** By which the applications of commands that share prove their names. */
  readonly identity: IdentityOptions | undefined;
  readonly resources: RunResources;
  readonly logger: Logger;
  /** The URL of its HTTP API for other sidecars. */
  readonly address: string;
  readonly telemetry: RunTelemetry | undefined;
}

/** The options of one application's sidecar. */
export function sidecarOptions(app: AppSettings, parts: HostedSidecar): SidecarOptions {
  const { run, state, components, identity, resources, logger, address, telemetry } = parts;
  const fromFiles = resources.byApp.get(app.appId)?.options;
  const shared = fromFiles?.components.map((definition) => components.share(definition));
  const definitions = isElsewhere(app, resources) ? shared?.map(withoutOwnState) : shared;
  return {
    ...fromFiles,
    appId: app.appId,
    components: app.resourcesPaths.length === 0 || definitions === undefined ? components.standard() : definitions,
    state,
    wire: run.wire,
    stopTimeout: run.gracePeriodMs,
    invocation: { urls: run.invokesUrls },
    dapr: { ...fromFiles?.dapr, placement: { enabled: run.showsPlacement } },
    logger,
    address,
    ...given('identity', fromFiles?.identity ?? identity),
    ...given('telemetry', telemetry?.of(app.appId)),
    ...given('app', appOptions(app, run)),
    ...given('deliveryTimeout', run.deliveryTimeoutMs),
    ...given('jobs', run.jobTimeoutMs === undefined ? undefined : { timeout: run.jobTimeoutMs }),
    ...given('bodyLimitBytes', app.bodyLimitBytes),
    ...given('headLimitBytes', app.headLimitBytes),
    ...given('cors', run.allowedOrigins && { origins: run.allowedOrigins }),
    ...given('allowedHosts', run.allowedHosts),
  };
}

/** Whether the state of the run is not on the server that the application's files name. */
function isElsewhere({ appId }: AppSettings, { byApp, state }: RunResources): boolean {
  const loaded = byApp.get(appId);
  const place = loaded?.statePath === undefined ? loaded?.options.state?.place : undefined;
  return place !== undefined && place !== state?.place;
}

function withoutOwnState(definition: AnyComponentDefinition): AnyComponentDefinition {
  return definition.block === 'state' ? { ...definition, isOwnState: false } : definition;
}

function appOptions(app: AppSettings, { startTimeoutMs, asksApps }: RunSettings): SidecarOptions['app'] {
  const { appPort, appHost, appProtocol, maxConcurrency, health } = app;
  if (appPort === undefined) return undefined;
  return {
    port: appPort,
    protocol: appProtocol,
    startTimeout: startTimeoutMs,
    ...given('host', appHost),
    discovery: asksApps,
    ...given('maxConcurrency', maxConcurrency),
    ...given('health', health),
  };
}
