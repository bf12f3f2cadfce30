import type { AppMonitor } from '../../app/app-monitor.ts';
import type { AppChannel } from '../../app/channel.ts';
import type { Membership } from '../../cluster/membership.ts';
import { isSidecarError, messageOf, SidecarError } from '../../errors.ts';
import type { HeaderMap } from '../../http/message.ts';
import { OwnedShards } from '../../kernel/owned-shards.ts';
import type { Resiliency } from '../../resiliency/policy.ts';
import type { AccessControl } from '../../security/access-control.ts';
import type { CancelToken } from '../../util/cancel-token.ts';
import { setGracePeriod } from '../../util/grace-period.ts';
import type { BlockDeps } from '../block-deps.ts';
import type { BlockService } from '../block-service.ts';
import type { HostIdentity } from '../host-identity.ts';
import { ActorCalls } from './forwarding/actor-calls.ts';
import { Directory } from './forwarding/directory.ts';
import { InboundActorCalls } from './forwarding/inbound-calls.ts';
import { AppActors } from './hosting/app-actors.ts';
import type { CodeHostDeps } from './hosting/code-actors.ts';
import { ConfigurationQuestion } from './hosting/configuration-question.ts';
import { HostedTurns } from './hosting/hosted-turns.ts';
import { type HostedType, HostedTypes } from './hosting/hosted-types.ts';
import { TypeClaims } from './hosting/type-claims.ts';
import type { ActorAddress } from './model/address.ts';
import type { ActorCall, ActorCaller, ActorReply, TimerOperation } from './model/call.ts';
import { ActorMoved, invokeFailed, notHosted, typeReserved } from './model/errors.ts';
import { checkAddress } from './model/names.ts';
import type { ActorTick, ActorTurns, TickOutcome } from './model/tick.ts';
import type { TickName } from './reminders/reminder-name.ts';
import { ReminderService } from './reminders/reminder-service.ts';
import { TimerService } from './reminders/timer-service.ts';
import { ActorStates, type FoundActorValue } from './storage/actor-states.ts';
import { ActorStateLayout } from './storage/layout.ts';
import { parseTransaction } from './storage/parse-transaction.ts';
import { changeTimer, timerCall } from './timer-calls.ts';
import { ActiveActors } from './turns/active-actors.ts';
import { verdictOf } from './verdict.ts';

/** The dependencies of an {@link ActorsService}. */
export interface ActorsServiceDeps extends BlockDeps {
  readonly app: AppChannel | undefined;
  readonly monitor: AppMonitor | undefined;
  /** Whether the application is asked which types it hosts. */
  readonly asksApp: boolean;
  readonly resiliency: Resiliency;
  readonly accessControl: AccessControl | undefined;
  readonly hostIdentity: HostIdentity;
  readonly bodyLimitBytes: number;
  readonly headLimitBytes: number;
  /** Whether each call of a reminder that was missed is made, and not one for all. */
  readonly everyTick: boolean;
  /** As that of jobs. */
  readonly maxCrashes: number;
  /** Shows the types of this host, and how many of their actors are active. */
  readonly publishTypes: (types: readonly string[], count: (actorType: string) => number) => Promise<void>;
  /** Stops the sidecar: it cannot be a host of its application. */
  readonly shutDown: () => void;
}

/** The most ticks of reminders, and of timers, that run at a time. */
const MAX_TICKS = 100;

/** The parts that need the store. */
interface Opened {
  readonly owned: OwnedShards;
  readonly active: ActiveActors;
  readonly turns: HostedTurns;
  readonly states: ActorStates;
  readonly calls: ActorCalls;
  readonly inbound: InboundActorCalls;
  readonly claims: TypeClaims;
}

/** Hosts actors and calls them. Routes and the public class parse its arguments. */
export class ActorsService implements BlockService, ActorTurns {
  readonly types: HostedTypes = new HostedTypes();
  readonly reminders: ReminderService;
  readonly timers: TimerService;
  readonly #deps: ActorsServiceDeps;
  readonly #reservedPrefix: string;
  readonly #runnable = new Set<() => void>();
  readonly #deactivated = new Set<(address: ActorAddress) => void>();
  #opened: Opened | undefined;
  #question: ConfigurationQuestion | undefined;
  #watch: Disposable | undefined;
  #isAtRest = false;
  #isStarted = false;
  /** Whether reminders run here: without an actor type there is none that is due. */
  #runsReminders = false;
  #isStopping = false;

  constructor(deps: ActorsServiceDeps) {
    this.#deps = deps;
    this.#reservedPrefix = `${deps.wire.actorTypePrefix}.`;
    const { app } = deps;
    const concurrency = Math.min(MAX_TICKS, app?.maxConcurrency ?? MAX_TICKS);
    const ticks = { ...deps, turns: this, concurrency };
    this.reminders = new ReminderService(ticks);
    this.timers = new TimerService(ticks);
    this.types.onChange(() => this.#tellRunnable());
    this.#askApp();
  }

  #askApp(): void {
    const { app, monitor, asksApp, probe } = this.#deps;
    if (app === undefined || monitor === undefined || !asksApp) return;
    const traceHeaders = (): HeaderMap => probe?.headers() ?? {};
    const hosting = new AppActors({ ...this.#deps, app, monitor, traceHeaders });
    this.#question = new ConfigurationQuestion({
      ...this.#deps,
      ...{ app, monitor },
      check: (actorType) => this.check({ actorType, actorId: '-' }),
      answered: (types) => {
        if (this.#isAtRest || (types.size === 0 && this.types.declared.length === 0)) return;
        this.types.setApp(types, hosting);
        if (this.#isStarted) this.#serveTypes();
      },
    });
    this.#watch = monitor.onChange((state) => {
      if (state === 'unreachable')
        this.#opened?.active.forgetAll(({ address }) => !this.types.isInCode(address.actorType));
      if (monitor.isPresent) this.#tellRunnable();
    });
  }

  /**
   * Hosts a type in code.
   *
   * @throws SidecarError `ERR_CONFIGURATION` once the sidecar has been started, and for a type that cannot be hosted
   */
  register(actorType: string, make: (deps: CodeHostDeps) => HostedType): void {
    const { apart, logger } = this.#deps;
    const { reminders, timers } = this;
    const name = JSON.stringify(actorType);
    if (this.#opened !== undefined)
      throw new SidecarError('ERR_CONFIGURATION', `actor type ${name} comes too late: register it before start()`);
    if (this.types.isInCode(actorType))
      throw new SidecarError('ERR_CONFIGURATION', `actor type ${name} is registered already`);
    try {
      this.check({ actorType, actorId: '-' });
    } catch (cause) {
      throw new SidecarError('ERR_INVALID_ARGUMENT', messageOf(cause), { cause, argument: 'options.type' });
    }
    this.types.add(actorType, make({ apart, logger, states: () => this.#open.states, reminders, timers }));
  }

  /** Calls an actor, wherever it is. The call waits for its turn, and for a host of its type. */
  call(address: ActorAddress, call: ActorCall): Promise<ActorReply> {
    this.check(address);
    const { active, calls } = this.#open;
    // While the sidecar stops, turns under way may still call the actors of their chain.
    if (!active.holds(address, call.chain)) this.#deps.admit();
    return calls.call(address, call);
  }

  /** Calls an actor of this host. @throws ActorMoved if it is not here */
  async #callHere(address: ActorAddress, call: ActorCall, caller: ActorCaller): Promise<ActorReply> {
    if (call.timer !== undefined) return changeTimer(address, call, { ...this.#open, timers: this.timers });
    const policy = this.#deps.resiliency.forActor(address.actorType, address.actorId);
    const { turns } = this.#open;
    const turn = (cancel: CancelToken, begun?: () => void): Promise<ActorReply> =>
      turns.call(address, { ...call, cancel }, caller, begun);
    try {
      if (policy === undefined) return await turn(call.cancel);
      const attempt = (cancel: CancelToken, _number: number, begun: () => void): Promise<ActorReply> =>
        turn(cancel, begun);
      return await policy.run(call.cancel, attempt, verdictOf, { isTimedLater: true });
    } catch (error) {
      if (isSidecarError(error) || error instanceof ActorMoved || call.cancel.aborted) throw error;
      throw invokeFailed(address, messageOf(error), error);
    }
  }

  readonly runTurn = (address: ActorAddress, tick: ActorTick): Promise<TickOutcome> =>
    this.#open.turns.tick(address, tick);

  canRun(actorType: string): boolean {
    return this.types.of(actorType)?.hosting.isPresent === true;
  }

  hosts(actorType: string): boolean {
    return this.types.of(actorType) !== undefined;
  }

  activate(address: ActorAddress): void {
    this.#open.active.activate(address);
  }

  onDeactivated(listener: (address: ActorAddress) => void): void {
    this.#deactivated.add(listener);
  }

  onRunnable(listener: () => void): void {
    this.#runnable.add(listener);
  }

  #tellRunnable(): void {
    for (const listener of this.#runnable) listener();
  }

  /** A value of an actor's state; `undefined` if there is none. */
  getState(address: ActorAddress, key: string): Promise<FoundActorValue | undefined> {
    this.check(address);
    return this.#open.states.get(address, key);
  }

  /** The values of an actor's state. */
  listState(address: ActorAddress): Promise<readonly FoundActorValue[]> {
    this.check(address);
    return this.#open.states.list(address);
  }

  /** Does the operations of a transaction, all or none. */
  async transact(address: ActorAddress, body: Buffer): Promise<void> {
    this.check(address);
    const { wire, clock } = this.#deps;
    const operations = parseTransaction(body, address, { wire, now: clock.now() });
    await this.#open.states.transact(address, operations);
  }

  /** @throws SidecarError for a name that cannot be, and for types of the workflow engine */
  check(address: ActorAddress): void {
    checkAddress(address);
    if (address.actorType.startsWith(this.#reservedPrefix)) throw typeReserved(address.actorType);
  }

  /**
   * Checks whose reminders and timers are asked for. Until the application has said what it hosts, that is waited for.
   *
   * @throws SidecarError `ERR_ACTOR_REMINDER_NON_HOSTED` for a type that this application does not host
   */
  async checkHosted(address: ActorAddress): Promise<void> {
    this.check(address);
    if (!this.hosts(address.actorType)) await this.#question?.untilAnswered();
    if (!this.hosts(address.actorType)) throw notHosted(address.actorType);
  }

  /**
   * Sets or deletes a timer where its actor lives. A deletion does not wait for a deactivation, which ends all timers:
   * the actor may ask for it while it is being deactivated.
   */
  async changeTimer({ name, ...address }: TickName, timer: TimerOperation, body: Uint8Array): Promise<void> {
    this.check(address);
    const { active, calls } = this.#open;
    if (timer === 'delete' && active.find(address)?.closed !== undefined) this.timers.delete({ ...address, name });
    else await calls.call(address, timerCall(name, timer, body));
  }

  /** Why this host lacks actor types that it is to have; `undefined` if it has all. */
  get problem(): string | undefined {
    return this.#question?.problem ?? this.types.problem;
  }

  /** Takes the calls of other hosts; `undefined` while there is no store. */
  get inbound(): InboundActorCalls | undefined {
    return this.#opened?.inbound;
  }

  /** The active actors of this host. */
  get active(): ActiveActors | undefined {
    return this.#opened?.active;
  }

  get #open(): Opened {
    this.#opened ?? this.#deps.admit();
    if (this.#opened === undefined) throw new SidecarError('ERR_NOT_STARTED', 'the sidecar has not been started');
    return this.#opened;
  }

  async open(membership: Membership): Promise<void> {
    const { appId, hostIdentity, accessControl } = this.#deps;
    const { store } = membership;
    const owned = new OwnedShards(membership.shards);
    const layout = new ActorStateLayout(appId);
    const active = new ActiveActors({
      ...this.#deps,
      owned,
      settingsOf: (actorType) => this.types.of(actorType)?.settings,
      deactivate: async (actor) => this.types.of(actor.address.actorType)?.hosting.deactivate(actor),
    });
    active.onDeactivated((address) => {
      for (const listener of this.#deactivated) listener(address);
    });
    const { types } = this;
    const turns = new HostedTurns({ ...this.#deps, types, active, isStopping: () => this.#isStopping });
    const states = new ActorStates({
      ...{ ...this.#deps, store, layout, owned },
      findActive: (address) => active.find(address),
    });
    const isHosted = (actorType: string): boolean => this.hosts(actorType);
    const directory = new Directory({ ...this.#deps, membership, owned, isHosted });
    const callHere = (address: ActorAddress, call: ActorCall, caller: ActorCaller): Promise<ActorReply> =>
      this.#callHere(address, call, caller);
    const inbound = new InboundActorCalls({ own: hostIdentity.own, accessControl, callHere });
    membership.local.setCalls(membership.id, 'actors', inbound);
    const calls = new ActorCalls({
      ...{ ...this.#deps, ...hostIdentity, membership, directory, callHere },
      holds: (address, chain) => active.holds(address, chain),
    });
    const claims = this.#claimsOf(membership, active);
    this.#opened = { owned, active, turns, states, calls, inbound, claims };
    await this.reminders.open(membership);
    // What an application hosts is known later.
    if (this.#question === undefined) await claims.checkAtStart();
  }

  #claimsOf(membership: Membership, active: ActiveActors): TypeClaims {
    const { publishTypes, logger, shutDown } = this.#deps;
    return new TypeClaims({
      ...{ ...this.#deps, registry: membership, types: this.types, reservedPrefix: this.#reservedPrefix },
      publish: (types) => publishTypes(types, (actorType) => active.count(actorType)),
      onMismatch: (error) => {
        logger.error({ error }, 'this host is refused: the sidecar stops');
        shutDown();
      },
    });
  }

  start(isAtRest: boolean): void {
    this.#isAtRest = isAtRest;
    if (isAtRest) return;
    this.#isStarted = true;
    this.#opened?.states.start();
    if (this.types.declared.length > 0) this.#serveTypes();
  }

  #serveTypes(): void {
    void this.#opened?.claims.claim();
    if (this.#runsReminders) return;
    this.#runsReminders = true;
    this.reminders.start(false);
  }

  /** Begins no turn any more, lets those under way end, and has all actors deactivated. */
  async stop(): Promise<void> {
    const { clock, gracePeriodMs } = this.#deps;
    this.#isStopping = true;
    this.#question?.stop();
    this.#watch?.[Symbol.dispose]();
    if (this.#opened === undefined) return;
    const { active, turns, calls, inbound, claims, states, owned } = this.#opened;
    claims.stop();
    inbound.stop();
    calls.beginStop();
    this.timers.stop();
    const ticks = this.reminders.stop();
    const reason = new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping', {
      headers: { 'retry-after': '1' },
    });
    const half = setGracePeriod(clock, gracePeriodMs, () => active.giveUp(reason), 0.5);
    await new Promise<void>((resolve) => {
      const whole = setGracePeriod(clock, gracePeriodMs, resolve);
      void active.stop().then(() => {
        whole.cancel();
        resolve();
      });
    });
    half.cancel();
    turns.abandon();
    await ticks;
    await states.stop();
    await calls.close();
    // Last: another host that takes shards over meanwhile waits for the turns of their actors.
    owned.stop();
  }
}
