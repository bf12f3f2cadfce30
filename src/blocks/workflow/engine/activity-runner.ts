import { messageOf } from '../../../errors.ts';
import { Limits, type LimitsDeps } from '../../../kernel/limits.ts';
import type { Observation } from '../../../probe.ts';
import { cancelWith } from '../../../util/cancel-token.ts';
import { type CodeCall, CodeCalls } from '../../../util/code-calls.ts';
import { Deque } from '../../../util/deque.ts';
import { type Link, Linked } from '../../../util/linked.ts';
import { outside } from '../../../util/outside.ts';
import { sinceWhen } from '../../../util/work.ts';
import type { Registry } from '../authoring/registry.ts';
import type { ActivityContext, ActivityFunction } from '../model/definition.ts';
import type { IncomingEvent } from '../model/events.ts';
import { ACTIVITY_TIMED_OUT, CanceledError, failureOf, type WorkflowFailure } from '../model/failure.ts';
import { textOfValue, valueOfText } from '../model/payload.ts';
import type { ActivityToRun } from '../replay/open-actions.ts';
import type { ActivityAttempt, ActivityCrashes, AttemptOwner } from './activity-crashes.ts';
import { type AttemptOffers, isWanted } from './attempt-offers.ts';
import { emitActivity, emitActivityStarted } from './emit-events.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { LiveInstance } from './live-instance.ts';
import { MissingNames } from './missing-names.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of an {@link ActivityRunner}, beside the host's. */
export interface ActivityRunnerDeps {
  readonly registry: Registry;
  readonly inFlight: InFlightCounter;
  readonly crashes: ActivityCrashes;
  readonly offers: AttemptOffers;
  /** Whether other hosts may have code that is not registered here. */
  readonly hasPeers: () => boolean;
  /** What limits need of this host. */
  readonly limits: Omit<LimitsDeps<AttemptOwner, ActivityAttempt>, 'go' | 'kind'>;
}

/** Runs activities in this process, up to a limit at a time. Posts each result as a message to its instance. */
export class ActivityRunner {
  readonly #deps: WorkflowsDeps;
  readonly #registry: Registry;
  readonly #inFlight: InFlightCounter;
  readonly #crashes: ActivityCrashes;
  readonly #offers: AttemptOffers;
  readonly #waiting = new Deque<ActivityAttempt>();
  /** Activities whose code is not registered, or that another host runs, by instance. */
  readonly #withoutCode = new Map<AttemptOwner, ActivityAttempt[]>();
  /** Activities of instances that may not begin them now: they resign, are paused, or are about to be ended. */
  readonly #withheld = new Map<AttemptOwner, ActivityAttempt[]>();
  readonly #missing: MissingNames;
  readonly #limits: Limits<AttemptOwner, ActivityAttempt>;
  readonly #running = new Linked<ActivityAttempt>();
  readonly #calls: CodeCalls;
  #isStopping = false;

  constructor(deps: WorkflowsDeps, { registry, inFlight, crashes, offers, limits, hasPeers }: ActivityRunnerDeps) {
    this.#deps = deps;
    this.#offers = offers;
    this.#calls = new CodeCalls(deps);
    this.#registry = registry;
    this.#inFlight = inFlight;
    this.#crashes = crashes;
    this.#limits = new Limits({ ...limits, kind: 'activity', go: (attempts) => this.#requeue(attempts) });
    this.#missing = new MissingNames({
      ...deps,
      kind: 'activity',
      isThere: (name) => registry.activityOf(name) !== undefined,
      mayBeElsewhere: hasPeers,
      onOverdue: () => this.#goOn(),
    });
  }

  /** The number of running and waiting activities. */
  get count(): number {
    let count = this.busyCount + this.#crashes.heldCount + this.#limits.waiting;
    for (const held of [this.#withoutCode, this.#withheld]) for (const own of held.values()) count += own.length;
    return count;
  }

  /** The number of activities that run, or are to run here next. */
  get busyCount(): number {
    return this.#running.size + this.#waiting.length;
  }

  /** Descriptions of the running activities, with their start times. */
  running(): readonly string[] {
    return [...this.#running].map(({ instance, activity, startedAt }) =>
      sinceWhen(`activity ${JSON.stringify(activity.name)} of workflow ${JSON.stringify(instance.id)}`, startedAt),
    );
  }

  /**
   * Runs an activity as soon as the limit allows it and its code is registered.
   *
   * @param found - of one that another process may have begun: how often the process has ended while it ran
   */
  run(instance: LiveInstance, activity: ActivityToRun, found?: number): void {
    const { executionId } = instance.record;
    const crashes = found ?? this.#crashes.carriedOf(instance, activity);
    const isRepeated = found !== undefined && found > 0;
    this.#waiting.push({ instance, activity, executionId, crashes, isRepeated, isTaken: false, startedAt: 0 });
    this.#pump();
  }

  /** Runs an activity for an instance of another host. */
  runTaken(attempt: ActivityAttempt): void {
    this.#requeue([attempt]);
  }

  /** What waits for code, or for another host, may run or fail now. */
  tryAgain(instance: AttemptOwner): void {
    const waiting = this.#withoutCode.get(instance);
    if (waiting === undefined) return;
    this.#withoutCode.delete(instance);
    this.#requeue(waiting);
  }

  /** Another host runs an activity that is not registered here. */
  isElsewhere(name: string): void {
    this.#missing.isElsewhere(name);
  }

  /** Hosts came or went: `names` are those of the activities that others run now. */
  hostsChanged(names: Iterable<string>): void {
    if (this.#missing.hostsChanged(names)) this.#goOn();
  }

  /** The names of the unregistered activities that an instance waits for. */
  missingOf(instance: LiveInstance): readonly string[] {
    const waiting = this.#withoutCode.get(instance);
    if (waiting === undefined) return [];
    const missing = waiting.filter((one) => isWanted(one) && !this.#offers.isElsewhere(one));
    return [...new Set(missing.map(({ activity }) => activity.name))];
  }

  /** Forgets an instance that left memory. */
  forget(instance: LiveInstance): void {
    for (const one of this.#withoutCode.get(instance) ?? []) this.#offers.waitsNoMore(one);
    this.#withoutCode.delete(instance);
    this.#withheld.delete(instance);
    this.#limits.drop(instance);
    this.#crashes.forget(instance);
  }

  /** An instance begins to be handed over: what runs of it ends in order. */
  handOver(instance: LiveInstance): void {
    this.#crashes.uncount(instance);
  }

  /** Runs what an instance was not allowed to begin, if it is now. */
  resume(instance: LiveInstance): void {
    const withheld = instance.mayBegin ? this.#withheld.get(instance) : undefined;
    if (withheld === undefined) return;
    this.#withheld.delete(instance);
    this.#requeue(withheld);
  }

  #requeue(attempts: readonly ActivityAttempt[]): void {
    for (const one of attempts) this.#waiting.push(one);
    this.#pump();
  }

  /** Code was registered: retries the activities that waited for it. */
  codeChanged(): void {
    if (this.#missing.codeChanged()) this.#goOn();
  }

  /** Requeues all activities that wait for code. */
  #goOn(): void {
    const all = [...this.#withoutCode.values()];
    this.#withoutCode.clear();
    for (const waiting of all) for (const one of waiting) this.#waiting.push(one);
    this.#pump();
  }

  /** Starts no more activities. */
  stop(): void {
    this.#isStopping = true;
    this.#limits.stop();
    this.#crashes.stop();
    this.#missing.stop();
  }

  /** The sidecar waits for no activity any more: forgets those that run. */
  close(): Promise<void> {
    this.#calls.abandon();
    return this.#limits.close();
  }

  #pump(): void {
    while (this.#running.size < this.#deps.maxConcurrentActivities && !this.#isStopping) {
      const first = this.#waiting.shift();
      if (first === undefined) return;
      const next = this.#offers.found(first) ?? first;
      if (next.instance.isGone || !isWanted(next)) this.#offers.waitsNoMore(next);
      else if (next.instance.mayBegin) outside(() => this.#begin(next));
      else this.#withhold(next);
    }
  }

  #withhold(next: ActivityAttempt): void {
    hold(this.#withheld, next);
    this.#offers.waitsNoMore(next);
    if (next.instance.isPaused) this.#offers.withdraw(next);
  }

  /** A registered function takes precedence over the one that the workflow passed, so that code can be replaced. */
  #begin(next: ActivityAttempt): void {
    const { name, run } = next.activity;
    const verdict = this.#crashes.verdict(next);
    if (verdict !== undefined) return this.#fail(next, verdict);
    const code = this.#registry.activityOf(name) ?? run;
    const isOffered = this.#offers.found(next) !== undefined;
    if (code !== undefined && !isOffered) {
      this.#offers.waitsNoMore(next);
      if (this.#admits(next)) void this.#runOne(next, code);
    } else if (next.isTaken) this.#offers.lost(next);
    // This host takes it before it runs it, as others do.
    else if (code !== undefined || this.#offers.isElsewhere(next) || this.#missing.waitsFor(name, next.instance.id)) {
      hold(this.#withoutCode, next);
      this.#offers.waits(next);
    } else this.#fail(next, this.#missing.failureOf(name));
  }

  /** Whether an attempt may begin now. Otherwise it comes again when it may. */
  #admits(next: ActivityAttempt): boolean {
    const { name } = next.activity;
    const limit = this.#limits.of(name, this.#registry.limitsOf(name));
    next.admission = limit?.admit(next.instance, next);
    if (limit !== undefined && next.admission === undefined) return false;
    const mayBegin = this.#crashes.admits(next);
    if (!mayBegin) next.admission?.ended();
    return mayBegin;
  }

  /** Ends an attempt that is not made. */
  #fail(next: ActivityAttempt, failure: WorkflowFailure): void {
    const { instance, activity, executionId } = next;
    this.#offers.waitsNoMore(next);
    const event: IncomingEvent = { type: 'activityFailed', sequence: activity.sequence, failure };
    emitActivity(this.#deps, { instanceId: instance.id, activity, event, startedAt: this.#deps.clock.now() });
    instance.post({ event, executionId, begun: this.#crashes.keyOf(next) });
  }

  #observe({ id, record }: AttemptOwner, { name, activityId, attempt }: ActivityToRun): Observation | undefined {
    const { trace } = record;
    return this.#deps.probe?.begin({
      type: 'activity',
      instanceId: id,
      activityName: name,
      activityId,
      attempt,
      trace,
    });
  }

  async #runOne(next: ActivityAttempt, run: ActivityFunction): Promise<void> {
    const { instance, activity, executionId } = next;
    const startedAt = this.#deps.clock.now();
    next.startedAt = startedAt;
    const place = this.#running.add(next);
    instance.running++;
    this.#inFlight.add();
    if (next.crashes !== undefined && !next.isTaken && !(await this.#crashes.begin(next))) {
      this.#leave(next, place);
      if (instance.isGone) return next.admission?.ended();
      // It goes on if the instance stays after all.
      hold(this.#withheld, next);
      this.#inFlight.remove();
      next.admission?.ended();
      return instance.checkQuiet();
    }
    const { sequence, name, input, attempt, timeoutMs = 0 } = activity;
    let event: IncomingEvent;
    let thrown: { readonly value: unknown } | undefined;
    const observation = this.#observe(instance, activity);
    emitActivityStarted(this.#deps, instance.id, activity);
    const about = (): object => ({ instanceId: instance.id, activity: name, attempt });
    const call = this.#calls.begin(name, timeoutMs, about);
    const context = new Context(next, call);
    const called = (): unknown => this.#deps.apart()(() => asTold(run)(valueOfText(input), context));
    try {
      const result = observation === undefined ? called() : observation.run(called);
      next.admission?.begun();
      const output = await (timeoutMs === 0 ? result : untilTimeOut(result, call));
      event = { type: 'activityCompleted', sequence, output: textOfValue(output, 'the output of activity', name) };
    } catch (error) {
      next.admission?.begun();
      thrown = { value: error };
      event = { type: 'activityFailed', sequence, failure: failureIn(error, call) };
    }
    context.end();
    this.#calls.end(call);
    observation?.end(thrown && { failure: { reason: messageOf(thrown.value), thrown } });
    this.#leave(next, place);
    // One that has left has taken what ran from the count. A listener of the event may make it leave, without this one.
    const { isGone } = instance;
    if (next.crashes !== undefined) this.#crashes.survived(next);
    emitActivity(this.#deps, { instanceId: instance.id, activity, event, startedAt, thrown });
    // A failure during a stop may be caused by it: the activity runs again.
    const begun = this.#crashes.keyOf(next);
    const isBrokenOff = this.#isStopping && thrown !== undefined;
    if (!instance.isGone && !isBrokenOff) instance.post({ event, executionId, begun });
    if (!isGone) this.#inFlight.remove();
    next.admission?.ended();
    this.#pump();
    this.#offers.roomChanged();
  }

  /** An attempt runs no more, or does not begin. */
  #leave(attempt: ActivityAttempt, place: Link<ActivityAttempt>): void {
    this.#running.delete(place);
    attempt.instance.running--;
    if (attempt.crashes === undefined) return;
    for (const free of this.#crashes.ended(attempt)) this.#waiting.push(free);
  }
}

function hold(held: Map<AttemptOwner, ActivityAttempt[]>, one: ActivityAttempt): void {
  const own = held.get(one.instance);
  if (own === undefined) held.set(one.instance, [one]);
  else own.push(one);
}

/** Drops the input type: the caller must pass the input that the activity expects. */
function asTold(run: ActivityFunction): ActivityFunction<unknown> {
  return run as ActivityFunction<unknown>;
}

/** What the function returns, unless its time is over first. */
function untilTimeOut(result: unknown, call: CodeCall): Promise<unknown> {
  return new Promise((resolve, reject) => {
    call.onTimeOut = (reason) => {
      reason.name = ACTIVITY_TIMED_OUT;
      reject(reason);
    };
    Promise.resolve(result).then(resolve, reject);
  });
}

/** The stack of an error for the time-out would show the engine alone. What a function throws may be anything. */
function failureIn(error: unknown, { overdue }: CodeCall): WorkflowFailure {
  if (overdue === undefined || error !== overdue) return failureOf(error);
  return { errorType: overdue.name, message: overdue.message };
}

/** Links the signal with the instance only on first use. It fires for that while the activity runs, not later. */
class Context implements ActivityContext {
  readonly instanceId: string;
  readonly activityId: number;
  readonly attempt: number;
  readonly #attempt: ActivityAttempt;
  readonly #call: CodeCall;
  #hasEnded = false;
  /** Leaves the instance, which may live long. */
  #leave: (() => void) | undefined;

  constructor(attempt: ActivityAttempt, call: CodeCall) {
    const { instance, activity } = attempt;
    this.instanceId = instance.id;
    this.activityId = activity.activityId;
    this.attempt = activity.attempt;
    this.#attempt = attempt;
    this.#call = call;
  }

  get signal(): AbortSignal {
    if (this.#hasEnded || this.#leave !== undefined) return this.#call.signal;
    const { instance, executionId, activity } = this.#attempt;
    this.#leave = cancelWith(this.#call, instance.cancellation);
    const isOfThisRun = instance.record.executionId === executionId;
    // It was canceled before it asked for its signal.
    if (isOfThisRun && !instance.core.isOpen(activity.sequence)) this.#call.abort(new CanceledError());
    return this.#call.signal;
  }

  /** The activity has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#leave?.();
  }
}
