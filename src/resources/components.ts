import { join } from 'node:path';
import type { AnyStoreDefinition } from '../components/any-component.ts';
import { durablePubSub } from '../components/durable/durable-pubsub.ts';
import { EnvironmentSecrets, environmentSecrets } from '../components/local/environment-secrets.ts';
import { fileConfiguration, parseConfigurationFile } from '../components/local/file-configuration.ts';
import { FileSecrets, readSecrets } from '../components/local/file-secrets.ts';
import { memoryPubSub } from '../components/memory/memory-pubsub.ts';
import { memoryState } from '../components/memory/memory-store.ts';
import type { PubSubDefinition } from '../components/pubsub.ts';
import type { TopicWildcards } from '../components/topic-patterns.ts';
import { messageOf } from '../errors.ts';
import { didYouMean } from '../util/suggest.ts';
import {
  COMPONENT_TYPES,
  type ComponentType,
  NO_COMPONENT,
  type Substitutes,
  substituted,
  unknownTypeProblem,
} from './component-types.ts';
import { fileBeside } from './file-beside.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';
import type { ComponentSpec } from './schema/component.ts';
import { type ServerRole, serverState } from './state-servers.ts';
import {
  type OwnState,
  readDirectoryState,
  readStateOptions,
  type StateComponent,
  type StateWish,
  stateOnDisk,
  stateStore,
} from './state-stores.ts';
import type { StoreSource } from './store-source.ts';
import { readTopicScopes } from './topic-scopes.ts';
import { resolveValue, type SecretLookup, type ValueOrigins } from './values.ts';
import { readTextFile } from './yaml-file.ts';

export interface ComponentOrigins {
  readonly origins: Omit<ValueOrigins, 'secretStores'>;
  readonly substitute: Substitutes;
  readonly workingDirectory: string;
  /** Whether the application speaks Dapr's API: component types are then understood in any case. */
  readonly isForDapr: boolean;
}

export interface ReadComponents {
  readonly pubsubs: readonly PubSubDefinition[];
  /** The stores of the building blocks. */
  readonly stores: readonly AnyStoreDefinition[];
  readonly secretStores: ReadonlyMap<string, SecretLookup>;
  /** The state requested by the files; `undefined` if there is none. */
  readonly state: OwnState | undefined;
}

/** A component of a supported type. */
interface Known {
  readonly resource: Resource;
  readonly type: ComponentType;
  readonly typeName: string;
  /** Whether the type replaces that of the file. */
  readonly isSubstitute: boolean;
}

/** The metadata of a component that is being made, and the report for their problems. */
interface Made {
  readonly values: ReadonlyMap<string, string>;
  readonly report: Report;
}

/** Makes the components of resources; secret stores first, because the others may need them. */
export async function readComponents(
  resources: readonly Resource[],
  context: ComponentOrigins,
  report: Report,
): Promise<ReadComponents> {
  const maker = new ComponentMaker(context);
  const isSecretStore = ({ spec }: Resource): boolean => /^secretstores\./i.test(typeOf(spec));
  for (const wanted of [true, false]) {
    for (const resource of resources) {
      if (isSecretStore(resource) !== wanted) continue;
      // The cast is safe: the schema of the kind was checked.
      const { ignoreErrors = false } = resource.spec as ComponentSpec;
      await report.part(ignoreErrors, (part) => maker.make(resource, part));
    }
  }
  const state = maker.state(report);
  return { pubsubs: maker.pubsubs, stores: maker.allStores(state), secretStores: maker.secretStores, state };
}

function isIgnored(name: string, { ignores = [] }: ComponentType): boolean {
  return ignores.some((ignored) => ignored.toLowerCase() === name.toLowerCase());
}

function typeOf(spec: unknown): string {
  return (spec as ComponentSpec).type;
}

class ComponentMaker {
  readonly pubsubs: PubSubDefinition[] = [];
  readonly #states: StateComponent[] = [];
  readonly #stores: AnyStoreDefinition[] = [];
  readonly secretStores = new Map<string, SecretLookup>();
  readonly #context: ComponentOrigins;
  #wantsDurableState = false;

  constructor(context: ComponentOrigins) {
    this.#context = context;
  }

  async make(resource: Resource, report: Report): Promise<void> {
    const known = this.#knownType(resource, report);
    if (known === undefined) return;
    const before = report.problems.length;
    const values = this.#values(known, report);
    if (report.problems.length > before) return;
    const { name } = resource;
    const { role } = known.type;
    switch (role) {
      case 'memory-pubsub':
        return this.#addMemoryPubSub(known, values, report);
      case 'durable-pubsub':
        this.#wantsDurableState = true;
        this.pubsubs.push(durablePubSub(name, { ...readTopicScopes(values, this.#appId), ...wildcardsOf(known) }));
        return;
      case 'broker-pubsub':
        return this.#addBrokerPubSub(known, values, report);
      case 'memory-state':
        return this.#addState(known, { values, report }, { definition: memoryState() });
      case 'embedded-state': {
        const wish = readDirectoryState(this.#source(known, { values, report }), this.#directory);
        return this.#addState(known, { values, report }, wish);
      }
      case 'postgresql-state':
      case 'redis-state':
        return this.#addServerState(known, role, values, report);
      case 'store':
        return this.#addStore(known, { values, report });
      case 'durable-store':
        this.#wantsDurableState = true;
        return this.#addStore(known, { values, report });
      case 'file-configuration':
        return this.#addFileConfiguration(known, values, report);
      case 'environment-secrets':
        this.#addEnvironmentSecrets(name, values.get('prefix') ?? '');
        return;
      case 'file-secrets':
        return this.#addFileSecrets(known, values, report);
    }
  }

  /** The state that the files request, for the sidecar itself. */
  state(report: Report): OwnState | undefined {
    const chosen = this.#chosenState(report);
    const needsDisk = this.#wantsDurableState;
    if (chosen === undefined)
      return needsDisk ? { ...stateOnDisk(this.#directory), isMarked: false, needsDisk } : undefined;
    const { wish, isPreferred: isMarked, resource } = chosen;
    if (wish.definition.type !== 'memory' || !needsDisk) return { ...wish, isMarked, needsDisk };
    const message = 'state is kept on disk all the same, because a pub/sub component keeps its messages there';
    report.note(resource.document.location(['spec', 'type']), message);
    return { ...stateOnDisk(this.#directory), isMarked, needsDisk };
  }

  /** The store of applications that is the sidecar's own state as well. */
  #chosenState(report: Report): StateComponent | undefined {
    const preferred = this.#states.filter(({ isPreferred }) => isPreferred);
    const [chosen, another] = preferred.length > 0 ? preferred : this.#states;
    if (another === undefined) return chosen;
    const names = [...(preferred.length > 0 ? preferred : this.#states)]
      .map(({ resource }) => resource.name)
      .join(', ');
    const at = another.resource.document.location(['metadata', 'name']);
    if (preferred.length > 0) {
      report.problem(at, `a sidecar has one state, and ${names} all have actorStateStore: leave it to one of them`);
      return chosen;
    }
    const place = this.#wantsDurableState ? 'on disk' : 'in memory';
    const advice = 'set actorStateStore to "true" on one of them to keep it there';
    report.note(at, `the sidecar keeps its own state ${place}, and not in one of ${names}: ${advice}`);
    return undefined;
  }

  /** The stores of the building blocks. */
  allStores(engine: StateWish | undefined): readonly AnyStoreDefinition[] {
    return [...this.#states.map((component) => stateStore(component, engine)), ...this.#stores];
  }

  /** Dapr's component types and versions have no case. */
  #inCase(name: string): string {
    return this.#context.isForDapr ? name.toLowerCase() : name;
  }

  get #appId(): string {
    return this.#context.origins.appId;
  }

  /** Where state on disk is by default. */
  get #directory(): string {
    return join(this.#context.workingDirectory, '.insidecar', this.#appId);
  }

  #knownType(resource: Resource, report: Report): Known | undefined {
    const { document, name, spec } = resource;
    const written = this.#inCase(typeOf(spec));
    const typeName = substituted(written, this.#context.substitute);
    const at = document.location(['spec', 'type']);
    if (typeName === NO_COMPONENT) {
      report.note(at, `component ${JSON.stringify(name)} of type ${written} is left out, as asked`);
      return undefined;
    }
    const type = COMPONENT_TYPES.get(typeName);
    if (type === undefined) {
      report.problem(at, unknownTypeProblem(typeName));
      return undefined;
    }
    // The cast is safe: the schema of the kind was checked.
    const version = this.#inCase((spec as ComponentSpec).version ?? '');
    const { versions = ['v1'] } = type;
    if (typeName === written && version !== '' && !versions.includes(version)) {
      const there = document.location(['spec', 'version']);
      const expected = versions.map((known) => JSON.stringify(known)).join(' or ');
      report.problem(there, `${typeName} has no version ${JSON.stringify(version)}: expected ${expected}`);
      return undefined;
    }
    if (typeName !== written)
      report.note(at, `component ${JSON.stringify(name)} is ${typeName} in place of ${written}`);
    return { resource, type, typeName, isSubstitute: typeName !== written };
  }

  /** Resolves only metadata that the type uses: a replaced type may refer to secrets that do not exist here. */
  #values({ resource, type, typeName, isSubstitute }: Known, report: Report): ReadonlyMap<string, string> {
    const { document, secretStore, spec } = resource;
    // The cast is safe: the schema of the kind was checked.
    const { metadata = [] } = spec as ComponentSpec;
    const values = new Map<string, string>();
    const unused: string[] = [];
    for (const [index, entry] of metadata.entries()) {
      const path = ['spec', 'metadata', index];
      const at = document.location([...path, 'name']);
      const name = type.uses.find((used) => used.toLowerCase() === entry.name.toLowerCase());
      if (name === undefined) {
        const isKnown = isSubstitute || isIgnored(entry.name, type);
        const hint = isKnown ? '' : didYouMean(entry.name, type.uses);
        if (hint === '') unused.push(entry.name);
        else report.problem(at, `${typeName} has no metadata ${JSON.stringify(entry.name)}${hint}`);
        continue;
      }
      if (values.has(name)) report.problem(at, `metadata ${JSON.stringify(name)} is defined twice`);
      const origins = { ...this.#context.origins, secretStores: this.secretStores };
      const value = resolveValue(entry, { document, path, secretStore }, origins, report);
      if (value !== undefined) values.set(name, value);
    }
    if (unused.length > 0)
      report.note(document.location(['spec', 'metadata']), `${typeName} has no use for metadata ${unused.join(', ')}`);
    return values;
  }

  #addMemoryPubSub(known: Known, values: ReadonlyMap<string, string>, report: Report): void {
    const { resource } = known;
    const limits: { maxMessages?: number; maxBytes?: number } = {};
    const before = report.problems.length;
    for (const name of ['maxMessages', 'maxBytes'] as const) {
      const written = values.get(name);
      if (written === undefined) continue;
      if (/^[1-9]\d{0,14}$/.test(written)) limits[name] = Number(written);
      else
        report.problem(
          resource.document.location(['spec', 'metadata']),
          // Without the value: it may come from a secret store.
          `metadata ${name} must be a positive integer`,
        );
    }
    if (report.problems.length > before) return;
    const options = { ...readTopicScopes(values, this.#appId), ...wildcardsOf(known) };
    const { name } = resource;
    const definition = memoryPubSub(name, { ...options, ...limits });
    const { type } = definition;
    const onState = (): PubSubDefinition => ({
      ...durablePubSub(name, { ...options, maxQueueMessages: limits.maxMessages }),
      type,
    });
    this.pubsubs.push({ ...definition, onState });
  }

  #addBrokerPubSub({ resource, type }: Known, values: ReadonlyMap<string, string>, report: Report): void {
    const at = resource.document.location(['spec', 'metadata']);
    const definition = type.makePubSub?.({
      name: resource.name,
      appId: this.#appId,
      values,
      topics: readTopicScopes(values, this.#appId),
      problem: (message) => report.problem(at, message),
      note: (message) => report.note(at, message),
    });
    if (definition !== undefined) this.pubsubs.push(definition);
  }

  #addServerState(known: Known, role: ServerRole, values: ReadonlyMap<string, string>, report: Report): void {
    const at = known.resource.document.location(['spec', 'metadata']);
    const [problem, note] = [(text: string) => report.problem(at, text), (text: string) => report.note(at, text)];
    const definition = serverState(role, { values, problem, note });
    if (definition !== undefined) this.#addState(known, { values, report }, { definition });
  }

  #addState(known: Known, made: Made, wish: StateWish): void {
    const { resource, typeName: type } = known;
    const before = made.report.problems.length;
    const source = this.#source(known, made);
    const options = readStateOptions(resource, source);
    const stored = known.type.makeStore?.({ ...source, options });
    const definition = stored?.block === 'state' ? stored : undefined;
    if (made.report.problems.length > before) return;
    const isPreferred = made.values.get('actorStateStore')?.toLowerCase() === 'true';
    this.#states.push({ resource, type, version: source.version, options, wish, isPreferred, definition });
  }

  #addStore(known: Known, made: Made): void {
    const definition = known.type.makeStore?.(this.#source(known, made));
    // The cast is safe: the schema of the kind was checked.
    const { ignoreErrors } = known.resource.spec as ComponentSpec;
    if (definition !== undefined)
      this.#stores.push(ignoreErrors === true ? { ...definition, ignoreErrors } : definition);
  }

  #source({ resource, typeName: type }: Known, { values, report }: Made): StoreSource {
    const at = resource.document.location(['spec', 'metadata']);
    // The cast is safe: the schema of the kind was checked.
    const version = this.#inCase((resource.spec as ComponentSpec).version || 'v1');
    return {
      ...{ name: resource.name, type, version, values, options: {} },
      workingDirectory: this.#context.workingDirectory,
      problem: (message) => report.problem(at, message),
      note: (message) => report.note(at, message),
    };
  }

  #addEnvironmentSecrets(name: string, prefix: string): void {
    const { environment } = this.#context.origins;
    this.#addSecrets(
      name,
      new EnvironmentSecrets(environment, prefix),
      environmentSecrets(name, { prefix, environment }),
    );
  }

  #addSecrets(name: string, secrets: EnvironmentSecrets | FileSecrets, definition: AnyStoreDefinition): void {
    this.secretStores.set(name, secrets);
    this.#stores.push(definition);
  }

  async #addFileSecrets({ resource }: Known, values: ReadonlyMap<string, string>, report: Report): Promise<void> {
    const { document, name } = resource;
    const secretsFile = values.get('secretsFile');
    if (!secretsFile) {
      report.problem(document.location(['spec', 'metadata']), 'secretstores.local.file needs metadata secretsFile');
      return;
    }
    const { workingDirectory } = this.#context;
    const text = await readTextFile(await fileBeside(secretsFile, { document, workingDirectory }), report);
    if (text === undefined) return;
    const multiValued = values.get('multiValued')?.toLowerCase() === 'true';
    const nestedSeparator = values.get('nestedSeparator') || ':';
    try {
      const secrets = new FileSecrets(text, { nestedSeparator, multiValued });
      this.#addSecrets(name, secrets, readSecrets(name, secrets));
    } catch (error) {
      const message = `${secretsFile} cannot be used: ${messageOf(error)}`;
      report.problem(document.location(['spec', 'metadata']), message);
    }
  }

  async #addFileConfiguration({ resource }: Known, values: ReadonlyMap<string, string>, report: Report): Promise<void> {
    const { document, name } = resource;
    const file = values.get('configurationFile');
    if (!file) {
      const message = 'configuration.local.file needs metadata configurationFile';
      report.problem(document.location(['spec', 'metadata']), message);
      return;
    }
    const path = await fileBeside(file, { document, workingDirectory: this.#context.workingDirectory });
    const text = await readTextFile(path, report);
    if (text === undefined) return;
    try {
      parseConfigurationFile(text);
      this.#stores.push(fileConfiguration(name, { path }));
    } catch (error) {
      report.problem(document.location(['spec', 'metadata']), `${file} cannot be used: ${messageOf(error)}`);
    }
  }
}

/** A component that stands in for a broker has the wildcards of that broker. */
function wildcardsOf({ resource }: Known): { readonly wildcards?: TopicWildcards } {
  const written = typeOf(resource.spec);
  if (/^pubsub\.mqtt\d?$/.test(written)) return { wildcards: 'mqtt' };
  return written === 'pubsub.jetstream' ? { wildcards: 'nats' } : {};
}
