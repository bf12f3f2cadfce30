import type { Shards } from '../cluster/shards.ts';
import type { StateStore } from '../state/store.ts';
import type { Clock } from '../util/clock.ts';
import type { ExpectedOne } from '../util/expected.ts';
import type { Logger } from '../util/logger.ts';

/** The dependencies that the sidecar passes to a component it opens. @public */
export interface ComponentContext {
  /** The app ID of the sidecar. */
  readonly appId: string;
  /** The source of time. */
  readonly clock: Clock;
  /** The log. */
  readonly logger: Logger;
  /** The sidecar's state store. */
  readonly state: StateStore;
  /** How the app ID's work on that state is divided among its hosts. Absent: the component has the state to itself. */
  readonly shards?: Shards;
  /** Records the start of the component's own work, so that tests can wait for it; call the result at its end. */
  readonly track: (what: string) => () => void;
  /**
   * Does something with the state that must be done before the component is used, except while the state does not work:
   * then it is done as soon as that does. Absent: it is always waited for. @internal
   */
  readonly begin?: (what: string, work: () => Promise<void>) => Promise<void>;
  /** The application, expected until its subscriptions are known. Absent: they are known. @internal */
  readonly subscriber?: ExpectedOne;
  /** Reports messages lost because their topic has no group. @internal */
  readonly noGroup?: (topic: string, messages: number) => void;
}

/** Common to the definitions of all components. @public */
export interface ComponentDefinition {
  /** The name used in requests. */
  readonly name: string;
  /** The kind and technology, such as `pubsub.in-memory`. */
  readonly type: string;
  /** The version of the component type. */
  readonly version: string;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

/** The building blocks whose components are opened, found by their names and closed as stores are. @public */
export type StoreBlock = 'state' | 'secrets' | 'configuration' | 'lock' | 'bindings';

/** An opened store of a building block: common to all of them. @public */
export interface OpenStore {
  /** Why the store does not work at present; `undefined` while it works. A sidecar with a failed store is not healthy. */
  readonly failure?: Error | undefined;
  /** Releases connections and files; waits for calls in flight. May be called twice. */
  close(): Promise<void>;
}

/**
 * An unopened store of a building block, as passed to a sidecar. A store on a server opens without waiting for it: calls
 * fail until it can be reached, and `failure` says why.
 *
 * @public
 */
export interface StoreDefinition extends ComponentDefinition {
  /** The building block. */
  readonly block: StoreBlock;
  /** Whether the sidecar starts without it if it cannot be opened. Default `false`: the start fails. */
  readonly ignoreErrors?: boolean | undefined;
  /** Opens the store for one sidecar. */
  open(context: ComponentContext): Promise<OpenStore>;
}
