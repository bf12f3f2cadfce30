import type { ActorCall, ActorCaller, ActorReply } from '../model/call.ts';
import type { ActorSettings } from '../model/configuration.ts';
import type { ActorTick, TickOutcome } from '../model/tick.ts';
import type { ActiveActor } from '../turns/active-actor.ts';

/** Runs the turns of actors: an application, or a class in code. */
export interface ActorHosting {
  /** @throws SidecarError `ERR_ACTOR_INVOKE_METHOD` if the actor has failed, or could not be asked */
  call(actor: ActiveActor, call: ActorCall, caller: ActorCaller): Promise<ActorReply>;
  /** Never rejects. */
  tick(actor: ActiveActor, tick: ActorTick, chain: string | undefined): Promise<TickOutcome>;
  /** The actor becomes inactive. Never rejects. */
  deactivate(actor: ActiveActor): Promise<void>;
  /** Whether ticks can run now. */
  readonly isPresent: boolean;
}

/** A type that is hosted here. */
export interface HostedType {
  readonly settings: ActorSettings;
  readonly hosting: ActorHosting;
}

/** The actor types of this host: those of classes in code, and those that the application has named. */
export class HostedTypes {
  readonly #inCode = new Map<string, HostedType>();
  #ofApp: ReadonlyMap<string, HostedType> = new Map();
  /** Types that another application has, or that the other hosts of this one lack. */
  #refused: ReadonlySet<string> = new Set();
  readonly #listeners = new Set<() => void>();

  /** The type, if it is hosted here. */
  of(actorType: string): HostedType | undefined {
    if (this.#refused.has(actorType)) return undefined;
    return this.#inCode.get(actorType) ?? this.#ofApp.get(actorType);
  }

  /** Their names, in alphabetical order. */
  get names(): readonly string[] {
    return this.declared.filter((type) => !this.#refused.has(type));
  }

  /** Those that would be hosted if none were refused. */
  get declared(): readonly string[] {
    return [...new Set([...this.#inCode.keys(), ...this.#ofApp.keys()])].sort();
  }

  get refused(): ReadonlySet<string> {
    return this.#refused;
  }

  /** Why types are refused; `undefined` if none is. */
  get problem(): string | undefined {
    const refused = [...this.#refused].map((type) => JSON.stringify(type));
    return refused.length === 0 ? undefined : `another application hosts the actor types ${refused.join(', ')}`;
  }

  isInCode(actorType: string): boolean {
    return this.#inCode.has(actorType);
  }

  add(actorType: string, hosted: HostedType): void {
    this.#inCode.set(actorType, hosted);
    this.#changed();
  }

  /** The application has said which types it hosts. */
  setApp(types: ReadonlyMap<string, ActorSettings>, hosting: ActorHosting): void {
    this.#ofApp = new Map([...types].map(([type, settings]) => [type, { settings, hosting }]));
    this.#changed();
  }

  refuse(types: ReadonlySet<string>): void {
    const isSame = types.size === this.#refused.size && [...types].every((type) => this.#refused.has(type));
    this.#refused = types;
    if (!isSame) this.#changed();
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
