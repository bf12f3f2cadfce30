import type { SubscribeOptions, Subscription } from '../../src/index.ts';
import { sleep } from '../../src/util/clock.ts';
import { randomOf } from '../crash/torture/random.ts';
import { Fleet, type Member } from './fleet.ts';
import { HastyClock } from './hasty-clock.ts';

/** How big a simulation is, and what happens in it. */
export interface TopicSimulationOptions {
  readonly seed: number;
  readonly steps: number;
  /** Whether hosts also freeze and die; else they join, stop, and have consumers or not. */
  readonly hasFaults: boolean;
  /** The options of all subscriptions. */
  readonly options: SubscribeOptions;
  /** Whether they take several messages at once. */
  readonly isBulk?: boolean;
}

/** A host as if it were in a process of its own. */
interface Host {
  readonly number: number;
  readonly member: Member;
  subscription: Subscription | undefined;
  /** It publishes one message after the other. */
  publishing: Promise<void>;
  isFrozen: boolean;
  isGone: boolean;
}

/** A message that was published. */
interface Published {
  readonly number: number;
  readonly key: string;
  readonly by: number;
  isAcknowledged: boolean;
  /** When its deliveries began, and those that have succeeded ended; counted over all hosts. */
  readonly begins: number[];
  readonly successes: number[];
}

type Data = Pick<Published, 'number'>;

const MAX_HOSTS = 4;
const KEYS = 8;
/** No host is thought alive as long, and no retry waits as long. */
const MAX_REST_SECONDS = 120;

/** Hosts share a topic, while they join, stop, freeze, die, and begin and cease to consume. Chance comes from the seed. */
export class TopicSimulation implements AsyncDisposable {
  readonly messages: Published[] = [];
  readonly hosts: Host[] = [];
  readonly #fleet = new Fleet();
  readonly #options: TopicSimulationOptions;
  readonly #random: () => number;
  #now = Date.parse('2026-01-01T00:00:00Z');
  #instant = 0;
  #isCalm = false;
  /** How many messages of a key are being handled, over all hosts; and where that was more than one. */
  readonly #running = new Map<string, number>();
  readonly #overlaps: string[] = [];

  constructor(options: TopicSimulationOptions) {
    this.#options = options;
    this.#random = randomOf(options.seed * 7_919);
  }

  async run(): Promise<void> {
    for (const _ of [1, 2]) await this.#join();
    for (let step = 0; step < this.#options.steps; step++) {
      await this.#happen();
      this.#publishSome();
      await this.#pass(1 + Math.floor(this.#random() * 2));
    }
    await this.#rest();
  }

  get #awake(): readonly Host[] {
    return this.hosts.filter(({ isFrozen, isGone }) => !isFrozen && !isGone);
  }

  /** Time passes for those that are awake. */
  #pass(seconds: number): Promise<void> {
    this.#now += seconds * 1_000;
    const awake = this.#awake.map(({ member }) => member);
    return this.#fleet.pass(seconds, awake);
  }

  #one<T>(of: readonly T[]): T | undefined {
    return of[Math.floor(this.#random() * of.length)];
  }

  async #happen(): Promise<void> {
    const dice = this.#random();
    for (const host of this.hosts) if (host.isFrozen && this.#random() < 0.15) await this.#thaw(host);
    const present = this.hosts.filter(({ isGone }) => !isGone).length;
    if (present < 2 || (dice < 0.1 && present < MAX_HOSTS)) return this.#join();
    const host = this.#one(this.#awake);
    if (host === undefined) return;
    if (dice < 0.35) return this.#turn(host);
    if (this.#awake.length < 2) return;
    if (dice < 0.43) return this.#stop(host);
    if (!this.#options.hasFaults) return;
    if (dice < 0.53) this.#freeze(host);
    else if (dice < 0.58) host.isGone = this.#freeze(host);
  }

  async #join(): Promise<void> {
    const member = await this.#fleet.join({ isApart: true, clock: new HastyClock(this.#now) });
    const host: Host = {
      ...{ number: this.hosts.length, member, subscription: undefined, publishing: Promise.resolve() },
      ...{ isFrozen: false, isGone: false },
    };
    member.store.losesHints = this.#random() < 0.2;
    this.hosts.push(host);
    await this.#turn(host);
  }

  /** A host begins to consume, or ceases to. */
  async #turn(host: Host): Promise<void> {
    const { member, subscription } = host;
    host.subscription = undefined;
    if (subscription !== undefined) return this.#until(subscription.close());
    const options = { concurrency: 5, retry: { delay: '300ms' }, ...this.#options.options } as const;
    const take = ({ data }: { data?: Data | undefined }): Promise<void> => this.#take(host, data?.number ?? -1);
    const takeAll = async (entries: readonly { data?: Data | undefined }[]): Promise<void> => {
      for (const entry of entries) await take(entry);
    };
    const { pubsub } = member.sidecar;
    host.subscription =
      this.#options.isBulk === true
        ? await pubsub.subscribeBulk<Data>('pubsub', 'orders', takeAll, options)
        : await pubsub.subscribe<Data>('pubsub', 'orders', take, options);
  }

  async #take({ member }: Host, number: number): Promise<void> {
    const message = this.messages[number];
    const ofKey = this.#options.options.concurrency === 1 ? 'all' : (message?.key ?? '');
    const before = this.#running.get(ofKey) ?? 0;
    this.#running.set(ofKey, before + 1);
    if (before > 0 && ofKey !== '') this.#overlaps.push(`message ${number} of ${ofKey} began beside another one`);
    message?.begins.push(this.#instant++);
    try {
      await this.#work(member);
    } finally {
      this.#running.set(ofKey, (this.#running.get(ofKey) ?? 1) - 1);
    }
    message?.successes.push(this.#instant++);
  }

  async #work({ clock }: Member): Promise<void> {
    if (this.#isCalm) return;
    const dice = this.#random();
    // Some take long enough that hosts come and go meanwhile, but less than a hand-over waits, also several at once.
    const longestMs = this.#options.isBulk === true ? 400 : 8_000;
    if (dice < 0.05) await sleep(clock, 1 + Math.floor(this.#random() * longestMs));
    else if (dice < 0.3)
      for (let waits = this.#random() * 5; waits > 0; waits--) await new Promise((resolve) => setImmediate(resolve));
    // Of several messages at once, those that have succeeded would come again.
    if (this.#random() < 0.1 && this.#options.isBulk !== true) throw new Error('not now');
  }

  #publishSome(): void {
    for (let left = Math.floor(this.#random() * 12); left > 0; left--) {
      const host = this.#one(this.#awake);
      if (host !== undefined) host.publishing = host.publishing.then(() => this.#publish(host));
    }
  }

  async #publish({ number: by, member }: Host): Promise<void> {
    const key = this.#random() < 0.7 ? `k${Math.floor(this.#random() * KEYS)}` : '';
    const number = this.messages.length;
    const message: Published = { number, key, by, isAcknowledged: false, begins: [], successes: [] };
    this.messages.push(message);
    const options = key === '' ? {} : { key };
    message.isAcknowledged = await member.sidecar.pubsub.publish('pubsub', 'orders', { number }, options).then(
      () => true,
      () => false,
    );
  }

  #freeze(host: Host): true {
    host.isFrozen = true;
    host.member.store.pause();
    return true;
  }

  /** Its clock has gone on. */
  async #thaw(host: Host): Promise<void> {
    if (host.isGone) return;
    await host.member.clock.advance(this.#now - host.member.clock.now());
    host.isFrozen = false;
    host.member.store.resume();
  }

  async #stop(host: Host): Promise<void> {
    await this.#until(host.member.sidecar.stop());
    host.isGone = true;
  }

  /** The clocks of all go on together: a host whose clock runs ahead would take the others to be dead. */
  async #until(ended: Promise<void>): Promise<void> {
    let isOver = false;
    const over = ended.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      for (let turns = 0; turns < 20 && !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
      if (!isOver) await this.#pass(1);
    }
    await over;
  }

  /** All that stood still goes on; until no message is left. */
  async #rest(): Promise<void> {
    this.#isCalm = true;
    for (const host of this.hosts) if (host.isFrozen) await this.#thaw(host);
    if (this.#awake.every(({ subscription }) => subscription === undefined)) await this.#turn(this.#awake[0] as Host);
    await this.#pass(20);
    for (let second = 0; second < MAX_REST_SECONDS && (await this.#left()) > 0; second += 5) await this.#pass(5);
  }

  async #left(): Promise<number> {
    const entries = await this.#fleet.memory.scan({ from: 'pubsub!' });
    return entries.filter(({ key }) => /!(ready|delayed)!/.test(key)).length;
  }

  /** What is wrong, each as a line; nothing when every promise was kept. */
  async findings(): Promise<readonly string[]> {
    const left = await this.#left();
    const found = left === 0 ? [] : [`${left} messages are left`];
    for (const message of this.messages) {
      const { number, isAcknowledged, successes } = message;
      if (isAcknowledged && successes.length === 0) found.push(`message ${number} was acknowledged and is lost`);
      if (!this.#options.hasFaults && successes.length > 1)
        found.push(`message ${number} has succeeded ${successes.length} times`);
    }
    const { order, perKey, concurrency } = this.#options.options;
    if (order === 'key') found.push(...this.#unordered());
    // A host that is lost may still be at work.
    const isOneAtATime = order === 'key' || perKey === 1 || concurrency === 1;
    return isOneAtATime && !this.#options.hasFaults ? [...found, ...this.#overlaps] : found;
  }

  /** Of those that one host has published with one key, each has succeeded before the next one begins. */
  #unordered(): string[] {
    const before = new Map<string, Published>();
    return this.messages.flatMap((message) => {
      const { number, key, by, begins, successes } = message;
      if (key === '' || successes.length === 0) return [];
      const earlier = before.get(`${key} ${by}`);
      before.set(`${key} ${by}`, message);
      const [began = 0, ended = 0] = [begins[0], earlier?.successes[0]];
      if (earlier === undefined || ended < began) return [];
      return [`message ${number} of ${key} began before ${earlier.number} had succeeded`];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { member } of this.hosts) member.store.resume();
    await this.#fleet[Symbol.asyncDispose]();
  }
}
