import type { Membership } from '../cluster/membership.ts';
import type { ComponentContext, StoreBlock, StoreDefinition } from '../components/component.ts';
import { messageOf, SidecarError } from '../errors.ts';
import type { ComponentKind, Policy, Resiliency } from '../resiliency/policy.ts';
import { outside } from '../util/outside.ts';
import type { BlockDeps } from './block-deps.ts';
import { componentContext } from './component-context.ts';
import { storeInWords, storeNotConfigured, storeNotFound } from './store-errors.ts';

/** The opened store of a definition. */
type StoreOf<Definition extends StoreDefinition> = Awaited<ReturnType<Definition['open']>>;

/** A store that is open, with what belongs to it. */
export interface NamedStore<Definition extends StoreDefinition> {
  readonly definition: Definition;
  readonly store: StoreOf<Definition>;
  /** The policy of calls to it; `undefined` if none applies. */
  readonly policy: Policy | undefined;
}

/** The dependencies of {@link Stores}. */
export interface StoresDeps<Definition extends StoreDefinition>
  extends Pick<BlockDeps, 'appId' | 'clock' | 'logger' | 'work'> {
  readonly block: StoreBlock;
  /** The stores that the application may use. */
  readonly definitions: readonly Definition[];
  readonly resiliency: Resiliency;
  /** The capabilities of an open store, for metadata. Default: none. */
  readonly capabilitiesOf?: (named: NamedStore<Definition>) => readonly string[];
}

/** An open store for metadata. */
export interface DescribedStore {
  readonly definition: StoreDefinition;
  readonly capabilities: readonly string[];
}

/** How default policies name the components of each block. */
const KINDS: Readonly<Record<StoreBlock, ComponentKind>> = {
  state: 'Statestore',
  secrets: 'Secretstore',
  configuration: 'Configuration',
  lock: 'Lock',
  bindings: 'Binding',
};

/** Why a store does not work at present. */
export interface FailedStore {
  readonly name: string;
  readonly reason: string;
}

/** The stores of a building block by their names: opens, finds and closes them. */
export class Stores<Definition extends StoreDefinition> {
  readonly #deps: StoresDeps<Definition>;
  readonly #opened = new Map<string, NamedStore<Definition>>();
  /** Those that could not be opened, and need not be. */
  readonly #leftOut = new Set<string>();
  #hasStopped = false;

  constructor(deps: StoresDeps<Definition>) {
    this.#deps = deps;
  }

  /** @throws SidecarError of the block if it has no stores, or none of this name */
  find(name: string): NamedStore<Definition> {
    const found = this.#opened.get(name);
    if (found !== undefined) return found;
    const { block, appId, definitions } = this.#deps;
    if (definitions.length === 0) throw storeNotConfigured(block, name, appId);
    throw storeNotFound(block, name, { appId, known: [...this.#opened.keys()] });
  }

  /** The open stores. */
  list(): readonly NamedStore<Definition>[] {
    return [...this.#opened.values()];
  }

  /** The number of stores, open or not yet. */
  get count(): number {
    return this.#deps.definitions.length - this.#leftOut.size;
  }

  /** The open stores with their capabilities. */
  describe(): readonly DescribedStore[] {
    const { capabilitiesOf = () => [] } = this.#deps;
    return this.list().map((named) => ({ definition: named.definition, capabilities: capabilitiesOf(named) }));
  }

  /** The open stores that do not work at present. */
  failed(): readonly FailedStore[] {
    return this.list().flatMap(({ definition: { name }, store: { failure } }) =>
      failure === undefined ? [] : [{ name, reason: messageOf(failure) }],
    );
  }

  /** The name of the store that is opened next, or being opened. */
  get unopened(): string | undefined {
    return this.#deps.definitions.find(({ name }) => !this.#opened.has(name) && !this.#leftOut.has(name))?.name;
  }

  /** Opens the stores one after the other. */
  async open(membership: Membership): Promise<void> {
    const { definitions, resiliency } = this.#deps;
    const context = componentContext(this.#deps, membership);
    for (const definition of definitions) {
      const store = await this.#open(definition, context);
      if (store === undefined) continue;
      const policy = resiliency.forComponent(definition.name, 'outbound', KINDS[definition.block]);
      this.#opened.set(definition.name, { definition, store, policy });
      // A stop did not wait for this one. It is closed by the next.
      if (this.#hasStopped) throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar has stopped');
    }
  }

  /** `undefined` if it is left out. */
  async #open(definition: Definition, context: ComponentContext): Promise<StoreOf<Definition> | undefined> {
    try {
      // The cast is safe: it is what this definition opens.
      return (await outside(() => definition.open(context))) as StoreOf<Definition>;
    } catch (error) {
      const { name, type, ignoreErrors } = definition;
      if (ignoreErrors !== true) throw error;
      this.#leftOut.add(name);
      const details = { component: name, type, error: messageOf(error) };
      this.#deps.logger.error(details, 'a component cannot be opened: left out, because ignoreErrors is set');
      return undefined;
    }
  }

  /** Closes the stores; again, also those opened since. The caller has waited for the calls in flight. */
  async close(): Promise<void> {
    this.#hasStopped = true;
    const closed = await Promise.allSettled(this.list().map((one) => this.#close(one)));
    const failed = closed.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #close({ definition: { name, block }, store }: NamedStore<Definition>): Promise<void> {
    const done = this.#deps.work.begin(`closing ${storeInWords(block)} ${name}`);
    try {
      await outside(() => store.close());
    } finally {
      done();
    }
  }
}
