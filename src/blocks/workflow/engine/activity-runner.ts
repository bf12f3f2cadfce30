import { signalOfCancelToken } from '../../../util/cancel-token.ts';
import { Deque } from '../../../util/deque.ts';
import { Linked } from '../../../util/linked.ts';
import { sinceWhen } from '../../../util/work.ts';
import type { Registry } from '../authoring/registry.ts';
import type { ActivityContext, ActivityFunction } from '../model/definition.ts';
import type { IncomingEvent } from '../model/events.ts';
import { failureOf } from '../model/failure.ts';
import { textOfValue, valueOfText } from '../model/payload.ts';
import type { ActivityToRun } from '../replay/open-actions.ts';
import { emitActivity } from './emit-events.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { LiveInstance } from './live-instance.ts';
import { MissingNames } from './missing-names.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

interface Waiting {
  readonly instance: LiveInstance;
  readonly activity: ActivityToRun;
  /** The run that called it: what waits when that continues as new is dropped. */
  readonly executionId: string;
}

interface Running {
  readonly instance: LiveInstance;
  readonly activity: ActivityToRun;
  readonly startedAt: number;
}

/** Runs activities in this process, not too many at a time. What they come to is a message for the instance. */
export class ActivityRunner {
  readonly #host: WorkflowsDeps;
  readonly #registry: Registry;
  readonly #inFlight: InFlightCounter;
  readonly #waiting = new Deque<Waiting>();
  /** Those whose code is not registered, by instance. */
  readonly #withoutCode = new Map<LiveInstance, Waiting[]>();
  readonly #missing: MissingNames;
  readonly #running = new Linked<Running>();
  #isStopping = false;

  constructor(host: WorkflowsDeps, registry: Registry, inFlight: InFlightCounter) {
    this.#host = host;
    this.#registry = registry;
    this.#inFlight = inFlight;
    this.#missing = new MissingNames({
      kind: 'activity',
      host,
      isThere: (name) => registry.activityOf(name) !== undefined,
      onOverdue: () => this.#goOn(),
    });
  }

  /** How many run or wait to be run. */
  get count(): number {
    let count = this.#running.size + this.#waiting.length;
    for (const waiting of this.#withoutCode.values()) count += waiting.length;
    return count;
  }

  /** Those that run, and since when. */
  running(): readonly string[] {
    return [...this.#running].map(({ instance, activity, startedAt }) =>
      sinceWhen(`activity ${JSON.stringify(activity.name)} of workflow ${JSON.stringify(instance.id)}`, startedAt),
    );
  }

  /** Runs an activity as soon as there is room, and code. */
  run(instance: LiveInstance, activity: ActivityToRun): void {
    this.#waiting.push({ instance, activity, executionId: instance.record.executionId });
    this.#pump();
  }

  /** The names of the code that an instance waits for. */
  missingOf(instance: LiveInstance): readonly string[] {
    const waiting = this.#withoutCode.get(instance);
    if (waiting === undefined) return [];
    return [...new Set(waiting.filter(isOfThisRun).map(({ activity }) => activity.name))];
  }

  /** An instance is in memory no more. */
  forget(instance: LiveInstance): void {
    this.#withoutCode.delete(instance);
  }

  /** There is code that was not there before. */
  codeChanged(): void {
    if (this.#missing.codeChanged()) this.#goOn();
  }

  /** Looks again at what has no code. */
  #goOn(): void {
    const all = [...this.#withoutCode.values()];
    this.#withoutCode.clear();
    for (const waiting of all) for (const one of waiting) this.#waiting.push(one);
    this.#pump();
  }

  /** Begins nothing any more. */
  stop(): void {
    this.#isStopping = true;
    this.#missing.stop();
  }

  #pump(): void {
    while (this.#running.size < this.#host.maxConcurrentActivities && !this.#isStopping) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.instance.mayBegin && isOfThisRun(next)) this.#begin(next);
    }
  }

  /** What is registered under a name goes before a function that was called: so code can be replaced. */
  #begin(next: Waiting): void {
    const { name, run } = next.activity;
    const code = this.#registry.activityOf(name) ?? run;
    if (code !== undefined) void this.#runOne(next, code);
    else if (this.#missing.waitsFor(name, next.instance.id)) this.#wait(next);
    else this.#giveUp(next);
  }

  #wait(next: Waiting): void {
    const waiting = this.#withoutCode.get(next.instance);
    if (waiting === undefined) this.#withoutCode.set(next.instance, [next]);
    else waiting.push(next);
  }

  #giveUp({ instance, activity, executionId }: Waiting): void {
    const failure = this.#missing.failureOf(activity.name);
    const event: IncomingEvent = { type: 'activityFailed', sequence: activity.sequence, failure };
    emitActivity(this.#host, { instanceId: instance.id, activity, event, startedAt: this.#host.clock.now() });
    instance.post({ event, executionId });
  }

  async #runOne({ instance, activity, executionId }: Waiting, run: ActivityFunction): Promise<void> {
    const startedAt = this.#host.clock.now();
    const place = this.#running.add({ instance, activity, startedAt });
    instance.running++;
    this.#inFlight.add();
    const { sequence, name, input } = activity;
    let event: IncomingEvent;
    let thrown: { readonly value: unknown } | undefined;
    try {
      const output = await asTold(run)(new Context(instance, activity), valueOfText(input));
      event = { type: 'activityCompleted', sequence, output: textOfValue(output, 'the output of activity', name) };
    } catch (error) {
      thrown = { value: error };
      event = { type: 'activityFailed', sequence, failure: failureOf(error) };
    }
    this.#running.delete(place);
    instance.running--;
    emitActivity(this.#host, { instanceId: instance.id, activity, event, startedAt, thrown });
    if (!instance.isGone) {
      instance.post({ event, executionId });
      this.#inFlight.remove();
    }
    this.#pump();
  }
}

function isOfThisRun({ instance, executionId }: Waiting): boolean {
  return instance.record.executionId === executionId;
}

/** What input an activity takes is for those to know who call it. */
function asTold(run: ActivityFunction): ActivityFunction<unknown> {
  return run as ActivityFunction<unknown>;
}

/** Makes the signal only for those who ask for it. */
class Context implements ActivityContext {
  readonly instanceId: string;
  readonly activityId: number;
  readonly attempt: number;
  readonly #instance: LiveInstance;
  #signal: AbortSignal | undefined;

  constructor(instance: LiveInstance, { activityId, attempt }: ActivityToRun) {
    this.instanceId = instance.id;
    this.activityId = activityId;
    this.attempt = attempt;
    this.#instance = instance;
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOfCancelToken(this.#instance.cancellation);
    return this.#signal;
  }
}
