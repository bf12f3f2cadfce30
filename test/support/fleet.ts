import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import {
  type DeliveryContext,
  defineJob,
  durablePubSub,
  type JobContext,
  type JobRegistration,
  type Subscription,
} from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { patientClock } from './clock.ts';
import { RecordingLogger } from './logger.ts';
import { PausableStore } from './pausable-store.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

/** Options of a sidecar of a fleet. */
export interface MemberOptions extends TestSidecarOptions {
  /** As if it were in a process of its own. */
  readonly isApart?: boolean;
  /** What its store says of its hints. */
  readonly hints?: 'all' | 'own';
  /** The name or pattern of the jobs that it has a function for; `''` for none. Default: all. */
  readonly runsJobs?: string;
}

/** A sidecar of a fleet: with a clock and an access to the store of its own, so that it can stand still as a whole. */
export class Member extends TestSidecar {
  readonly store: PausableStore;
  /** The jobs that ran here, as `<name> <instant>`. */
  readonly runs: string[] = [];
  /** The messages that came here. */
  readonly messages: string[] = [];
  /** How many messages of a topic it handles at a time. */
  concurrency = 10;
  /** What happens with each; by default it is done. */
  onRun: (run: JobContext) => unknown = () => undefined;
  onMessage: (message: string, context: DeliveryContext) => unknown = () => undefined;

  constructor(
    store: MemoryStore,
    { isApart = false, hints = 'own', runsJobs = '*', ...options }: MemberOptions,
    startAt: number,
  ) {
    const state = isApart ? new PausableStore(store, false, true) : new PausableStore(store);
    super({ clock: patientClock({ startAt }), state, components: [durablePubSub('pubsub')], ...options });
    this.store = state;
    state.hints = hints;
    if (runsJobs !== '') void this.registerJobs(runsJobs);
  }

  /** Registers a function for jobs. */
  registerJobs(pattern: string): Promise<JobRegistration> {
    return this.sidecar.jobs.register(
      defineJob(pattern, (_, run) => {
        this.runs.push(`${run.name} ${run.dueAt}`);
        return this.onRun(run);
      }),
    );
  }

  /** Subscribes to topics; answers what ends that. */
  async subscribe(...topics: readonly string[]): Promise<() => Promise<void>> {
    const { concurrency } = this;
    const onMessage = async ({ data: message = '' }: { data?: string }, context: DeliveryContext): Promise<void> => {
      this.messages.push(message);
      await this.onMessage(message, context);
    };
    const subscriptions: Subscription[] = [];
    for (const topic of topics)
      subscriptions.push(await this.sidecar.pubsub.subscribe<string>('pubsub', topic, onMessage, { concurrency }));
    return async () => {
      for (const subscription of subscriptions) await subscription.close();
    };
  }

  override async stop(): Promise<void> {
    this.store.resume();
    await super.stop();
  }
}

/** Sidecars that share a store in memory. */
export class Fleet implements AsyncDisposable {
  readonly memory: MemoryStore;
  readonly members: Member[] = [];
  readonly #startAt = Date.parse('2026-01-01T00:00:00Z');
  #elapsedMs = 0;

  constructor() {
    this.memory = new MemoryStore({ clock: virtualClock(), logger: new RecordingLogger() });
  }

  async join(options: MemberOptions = {}): Promise<Member> {
    const member = new Member(this.memory, options, this.#startAt + this.#elapsedMs);
    this.members.push(member);
    return member.start();
  }

  /** Lets time pass for some members, second by second; by default for all. */
  async pass(seconds: number, members: readonly Member[] = this.members): Promise<void> {
    for (let second = 0; second < seconds; second++) for (const { clock } of members) await clock.advance(1_000);
    this.#elapsedMs += seconds * 1_000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const member of this.members) await member.stop();
  }
}
