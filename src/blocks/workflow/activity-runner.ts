import { signalOfAbortion } from '../../util/abortion.ts';
import { Deque } from '../../util/deque.ts';
import { Linked } from '../../util/linked.ts';
import { sinceWhen } from '../../util/work.ts';
import type { ActivityContext, ActivityFunction } from './definition.ts';
import type { IncomingEvent } from './events.ts';
import { failureOf, NOT_REGISTERED } from './failure.ts';
import type { LiveInstance } from './live-instance.ts';
import type { ActivityToRun } from './open-actions.ts';
import { textOfValue, valueOfText } from './payload.ts';
import type { Registry } from './registry.ts';
import { tellActivity } from './telling.ts';
import type { Underway } from './underway.ts';
import type { WorkflowsHost } from './workflows-host.ts';

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
  readonly #host: WorkflowsHost;
  readonly #registry: Registry;
  readonly #underway: Underway;
  readonly #waiting = new Deque<Waiting>();
  /** Of instances that were loaded before their code was registered. */
  #withoutCode: Waiting[] = [];
  readonly #running = new Linked<Running>();
  #isStopping = false;

  constructor(host: WorkflowsHost, registry: Registry, underway: Underway) {
    this.#host = host;
    this.#registry = registry;
    this.#underway = underway;
  }

  /** How many run or wait to be run. */
  get count(): number {
    return this.#running.size + this.#waiting.length + this.#withoutCode.length;
  }

  /** Those that run, and since when. */
  running(): readonly string[] {
    return [...this.#running].map(({ instance, activity, startedAt }) =>
      sinceWhen(`activity ${JSON.stringify(activity.name)} of workflow ${JSON.stringify(instance.id)}`, startedAt),
    );
  }

  /** Runs an activity as soon as there is room. */
  run(instance: LiveInstance, activity: ActivityToRun): void {
    this.#waiting.push(waitingOf(instance, activity));
    this.#pump();
  }

  /** Runs one again that was begun in another life: its code may be registered only later. */
  runAgain(instance: LiveInstance, activity: ActivityToRun): void {
    if (this.#codeOf(activity) !== undefined) return this.run(instance, activity);
    const { name } = activity;
    this.#host.logger.warn(
      { instanceId: instance.id, activity: name },
      'an activity waits for its code to be registered',
    );
    this.#withoutCode.push(waitingOf(instance, activity));
  }

  /** There is code that was not there before. */
  codeChanged(): void {
    const waiting = this.#withoutCode;
    this.#withoutCode = [];
    for (const one of waiting) {
      if (one.instance.isGone) continue;
      if (this.#codeOf(one.activity) === undefined) this.#withoutCode.push(one);
      else this.#waiting.push(one);
    }
    this.#pump();
  }

  /** Begins nothing any more. */
  stop(): void {
    this.#isStopping = true;
  }

  #codeOf({ name, run }: ActivityToRun): ActivityFunction | undefined {
    return run ?? this.#registry.activityOf(name);
  }

  #pump(): void {
    while (this.#running.size < this.#host.maxConcurrentActivities && !this.#isStopping) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (next.instance.mayBegin && isOfThisRun(next)) void this.#runOne(next);
    }
  }

  async #runOne({ instance, activity, executionId }: Waiting): Promise<void> {
    const startedAt = this.#host.clock.now();
    const place = this.#running.add({ instance, activity, startedAt });
    instance.running++;
    this.#underway.add();
    const { sequence, name, input } = activity;
    const run = this.#codeOf(activity);
    let event: IncomingEvent;
    let thrown: { readonly value: unknown } | undefined;
    try {
      if (run === undefined) event = { type: 'activityFailed', sequence, failure: notRegistered(name) };
      else {
        const output = await asTold(run)(new Context(instance, activity), valueOfText(input));
        event = { type: 'activityCompleted', sequence, output: textOfValue(output, 'the output of activity', name) };
      }
    } catch (error) {
      thrown = { value: error };
      event = { type: 'activityFailed', sequence, failure: failureOf(error) };
    }
    this.#running.delete(place);
    instance.running--;
    tellActivity(this.#host, { instanceId: instance.id, activity, event, startedAt, thrown });
    if (!instance.isGone) {
      instance.post({ event, executionId });
      this.#underway.remove();
    }
    this.#pump();
  }
}

function waitingOf(instance: LiveInstance, activity: ActivityToRun): Waiting {
  return { instance, activity, executionId: instance.record.executionId };
}

function isOfThisRun({ instance, executionId }: Waiting): boolean {
  return instance.record.executionId === executionId;
}

function notRegistered(name: string): { errorType: string; message: string } {
  return { errorType: NOT_REGISTERED, message: `activity ${JSON.stringify(name)} is not registered` };
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
    this.#signal ??= signalOfAbortion(this.#instance.cancellation);
    return this.#signal;
  }
}
