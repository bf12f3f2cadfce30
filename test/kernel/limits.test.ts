/** Limits over all hosts: several hosts on one store, in one process and in virtual time. */
import { describe, expect, test } from 'vitest';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { Limits } from '../../src/kernel/limits.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/index.ts';
import type { Timer } from '../../src/util/clock.ts';
import type { SlotLimit } from '../../src/util/run-limits.ts';
import { Work } from '../../src/util/work.ts';
import { RecordingLogger } from '../support/logger.ts';
import { mostAtOnce, mostIn } from '../support/run-log.ts';

interface Run {
  beganAt: number;
  endedAt?: number | undefined;
  readonly host: string;
}

/** The hosts that are alive, and what they run. */
class World {
  readonly clock: VirtualClock = virtualClock();
  readonly store = new MemoryStore({ clock: this.clock, logger: new RecordingLogger() });
  readonly live = new Set<string>();
  readonly runs: Run[] = [];
  readonly hosts = new Set<Host>();
  commits = 0;

  constructor() {
    this.clock.watch({ running: () => [...this.hosts].flatMap(({ work }) => work.running()) });
    this.store.watch('', () => void this.commits++);
  }

  /** Other hosts see that one has come or gone. */
  hostsChanged(): void {
    for (const listener of [...this.listeners]) listener();
  }

  readonly listeners = new Set<() => void>();

  host(id: string, limits: readonly SlotLimit[], lastsMs: number): Host {
    const host = new Host(this, { id, limits, lastsMs });
    this.hosts.add(host);
    return host;
  }

  countOf(host: string): number {
    return this.runs.filter((run) => run.host === host).length;
  }
}

interface HostOptions {
  readonly id: string;
  readonly limits: readonly SlotLimit[];
  readonly lastsMs: number;
}

class Host {
  readonly logger = new RecordingLogger();
  readonly work = new Work();
  readonly #world: World;
  readonly #options: HostOptions;
  readonly #limits: Limits<string, string>;
  #id: string;
  /** Whether it stands still: nothing of it goes on. */
  #isFrozen = false;
  #isDead = false;

  constructor(world: World, options: HostOptions) {
    this.#world = world;
    this.#options = options;
    this.#id = options.id;
    world.live.add(options.id);
    const { clock, store, live, listeners } = world;
    const { work } = this;
    const isStill = (): boolean => this.#isFrozen || this.#isDead;
    const setTimeout = (callback: () => void, delayMs: number): Timer =>
      clock.setTimeout(() => void (this.#isDead || callback()), delayMs);
    const ownId = (): string => this.#id;
    void store.commit({ put: [{ key: `host/${options.id}`, value: new Uint8Array() }] });
    this.#limits = new Limits({
      ...{ clock: { now: () => clock.now(), setTimeout }, work, logger: this.logger, prefix: 'limit!', kind: 'job' },
      store: {
        get: (key) => (isStill() ? new Promise(() => undefined) : store.get(key)),
        commit: (batch) => (isStill() ? new Promise(() => undefined) : store.commit({ ...batch, by: this })),
      },
      owned: {
        watch: (prefix, onChange) =>
          void store.watch(prefix, (keys, by) => {
            if (by !== this && !isStill()) onChange(keys);
          }),
      },
      hosts: {
        get id() {
          return ownId();
        },
        isLive: (id) => live.has(id),
        whenGone: (id) => ({ key: `host/${id}`, version: 'absent' }),
        onChange: (listener) => {
          const own = (): void => void (isStill() || listener());
          listeners.add(own);
          return { [Symbol.dispose]: () => void listeners.delete(own) };
        },
      },
      go: (items) => {
        for (const item of items) this.run(item);
      },
    });
  }

  /** Runs something as soon as the limit lets it. */
  run(item: string): void {
    if (this.#isDead) return;
    const { clock, runs } = this.#world;
    const { limits, lastsMs, id: host } = this.#options;
    const limit = this.#limits.of('work', limits);
    const admission = limit?.admit(item, item);
    if (admission === undefined) return;
    admission.begun();
    const run: Run = { beganAt: clock.now(), host };
    runs.push(run);
    clock.setTimeout(() => {
      if (run.endedAt === undefined) run.endedAt = clock.now();
      if (!this.#isDead) admission.ended();
    }, lastsMs);
  }

  runMany(count: number): void {
    for (let index = 0; index < count; index++) this.run(`${this.#id} ${index}`);
  }

  /** Its process ends, and the others see it at once. */
  async die(): Promise<void> {
    this.#isDead = true;
    this.#world.hosts.delete(this);
    const { runs, clock } = this.#world;
    for (const run of runs) if (run.host === this.#options.id) run.endedAt ??= clock.now();
    await this.#gone();
  }

  async #gone(): Promise<void> {
    const { live, store } = this.#world;
    live.delete(this.#id);
    await store.commit({ delete: [`host/${this.#id}`] });
    this.#world.hostsChanged();
  }

  /** It stands still until the others think that it is dead. What it runs goes on. */
  async freeze(): Promise<void> {
    this.#isFrozen = true;
    await this.#gone();
  }

  /** It goes on, as another host. */
  async thaw(): Promise<void> {
    this.#isFrozen = false;
    this.#id = `${this.#id}'`;
    this.#world.live.add(this.#id);
    await this.#world.store.commit({ put: [{ key: `host/${this.#id}`, value: new Uint8Array() }] });
    this.#world.hostsChanged();
  }

  /** It stops in order: what runs ends first. */
  async stop(): Promise<void> {
    this.#limits.stop();
    const { clock, runs } = this.#world;
    while (runs.some(({ host, endedAt }) => host === this.#options.id && endedAt === undefined))
      await clock.advance('10ms');
    await this.#limits.close();
    await this.#gone();
  }
}

const RUNS: readonly SlotLimit[] = [{ max: 5 }];
const ONE: readonly SlotLimit[] = [{ max: 1 }];

describe('a limit of runs at a time, on several hosts', () => {
  test('holds, is divided evenly, and everything runs', async () => {
    const world = new World();
    const hosts = ['a', 'b', 'c'].map((id) => world.host(id, RUNS, 100));
    for (const host of hosts) host.runMany(50);
    await world.clock.advance('2s');
    for (const id of ['a', 'b', 'c']) expect(world.countOf(id)).toBeGreaterThanOrEqual(20);
    await world.clock.advance('2s');
    expect(world.runs).toHaveLength(150);
    expect(mostAtOnce(world.runs)).toBe(5);
    // Each of 30 rounds of 100 ms is full: no slot has waited.
    expect(Math.max(...world.runs.map(({ endedAt = 0 }) => endedAt))).toBeLessThanOrEqual(world.clock.now() - 900);
  });

  test('goes round among more hosts than there are slots', async () => {
    const world = new World();
    const hosts = ['a', 'b', 'c', 'd'].map((id) => world.host(id, ONE, 100));
    for (const host of hosts) host.runMany(10);
    await world.clock.advance('1s');
    for (const id of ['a', 'b', 'c', 'd']) expect(world.countOf(id)).toBeGreaterThanOrEqual(2);
    await world.clock.advance('4s');
    expect(world.runs).toHaveLength(40);
    expect(mostAtOnce(world.runs)).toBe(1);
  });

  test('costs a host alone one commit, however much it runs', async () => {
    const world = new World();
    const host = world.host('a', RUNS, 100);
    host.runMany(500);
    await world.clock.advance('11s');
    expect(world.runs).toHaveLength(500);
    // The first one is that of the host itself.
    expect(world.commits).toBe(2);
  });

  test('gives a host that comes later its part, within the run that it waits for', async () => {
    const world = new World();
    world.host('a', RUNS, 100).runMany(500);
    await world.clock.advance('1050ms');
    world.host('b', RUNS, 100).runMany(10);
    await world.clock.advance('100ms');
    expect(world.countOf('b')).toBeGreaterThan(0);
    await world.clock.advance('600ms');
    expect(world.countOf('b')).toBe(10);
    expect(mostAtOnce(world.runs)).toBe(5);
  });

  test('gives the slots of a dead host to the others', async () => {
    const world = new World();
    const dying = world.host('a', RUNS, 1_000_000);
    dying.runMany(10);
    await world.clock.advance('1s');
    world.host('b', RUNS, 100).runMany(20);
    await world.clock.advance('10s');
    expect(world.countOf('b')).toBe(0);
    await dying.die();
    await world.clock.advance('1s');
    expect(world.countOf('b')).toBe(20);
    expect(mostAtOnce(world.runs)).toBe(5);
  });

  test('has a host that was thought dead finish what it runs, beside what the limit allows', async () => {
    const world = new World();
    const frozen = world.host('a', RUNS, 60_000);
    const other = world.host('b', RUNS, 1_000);
    frozen.runMany(10);
    await world.clock.advance('1s');
    await frozen.freeze();
    other.runMany(200);
    await world.clock.advance('5s');
    const own = [...world.runs.slice(0, 5)];
    expect(own.map(({ host }) => host)).toEqual(['a', 'a', 'a', 'a', 'a']);
    await frozen.thaw();
    await world.clock.advance('30s');
    // Its five runs go on beside the five of the limit.
    const others = world.runs.filter((run) => !own.includes(run));
    expect([mostAtOnce(world.runs), mostAtOnce(others)]).toEqual([10, 5]);
    await world.clock.advance('200s');
    expect(world.runs).toHaveLength(210);
    expect(mostAtOnce(world.runs.filter((run) => !own.includes(run)))).toBe(5);
  });

  test('gives the slots of a host that stops to the others at once', async () => {
    const world = new World();
    const stopping = world.host('a', RUNS, 100);
    stopping.runMany(5);
    await world.clock.advance('1s');
    await stopping.stop();
    world.host('b', RUNS, 100).runMany(5);
    await world.clock.advance(0);
    expect(world.countOf('b')).toBe(5);
  });

  test('is the lowest one of those of the hosts that run any, with a warning at the others', async () => {
    const world = new World();
    const high = world.host('a', [{ max: 10 }], 100);
    high.runMany(10);
    await world.clock.advance('50ms');
    const low = world.host('b', [{ max: 2 }], 100);
    low.runMany(20);
    await world.clock.advance('100ms');
    const from = world.clock.now();
    high.runMany(20);
    await world.clock.advance('3s');
    expect(world.runs).toHaveLength(50);
    expect(mostAtOnce(world.runs.filter(({ beganAt }) => beganAt >= from))).toBe(2);
    const warned = [high, low].map(({ logger }) => logger.at('warn').map(({ message }) => message));
    expect(warned).toEqual([
      ['another process has a lower limit for job "work": it holds while that process runs any'],
      [],
    ]);
  });
});

describe('a rate, on several hosts', () => {
  const rate = [{ max: 10, perMs: 1_000 }];

  test('holds, and goes round', async () => {
    const world = new World();
    const hosts = ['a', 'b', 'c'].map((id) => world.host(id, rate, 10));
    for (const host of hosts) host.runMany(40);
    await world.clock.advance('6s');
    for (const id of ['a', 'b', 'c']) expect(world.countOf(id)).toBeGreaterThan(10);
    await world.clock.advance('6100ms');
    expect(world.runs).toHaveLength(120);
    expect(mostIn(world.runs, 1_000)).toBe(10);
  });

  test('holds over the death of a host', async () => {
    const world = new World();
    const dying = world.host('a', rate, 10);
    const other = world.host('b', rate, 10);
    dying.runMany(100);
    await world.clock.advance('1500ms');
    await dying.die();
    other.runMany(30);
    await world.clock.advance('5s');
    expect(world.countOf('b')).toBe(30);
    expect(mostIn(world.runs, 1_000)).toBe(10);
  });

  test('of one run goes round among hosts', async () => {
    const world = new World();
    const hosts = ['a', 'b', 'c'].map((id) => world.host(id, [{ max: 1, perMs: 100 }], 0));
    for (const host of hosts) host.runMany(10);
    await world.clock.advance('1s');
    for (const id of ['a', 'b', 'c']) expect(world.countOf(id)).toBeGreaterThanOrEqual(2);
    await world.clock.advance('3s');
    expect(world.runs).toHaveLength(30);
    expect(mostIn(world.runs, 100)).toBe(1);
  });
});

/** A number from 0 to 1, the same for each seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('hosts that come, die, stand still, stop and run at random', () => {
  test.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'keep both limits, and run everything: seed %d',
    async (seed) => {
      const random = randomOf(seed * 7_919 + 1);
      const below = (count: number): number => Math.floor(random() * count);
      const limits: SlotLimit[] = [];
      const max = 1 + below(6);
      const rateMax = 1 + below(8);
      if (random() < 0.7) limits.push({ max });
      if (limits.length === 0 || random() < 0.5) limits.push({ max: rateMax, perMs: 1_000 });
      const world = new World();
      let next = 0;
      const join = (): Host => world.host(`h${next++}`, limits, 20 + below(300));
      const hosts = [join(), join(), join()];
      for (let step = 0; step < 40; step++) {
        const host = hosts[below(hosts.length)];
        if (random() < 0.6) host?.runMany(below(15));
        else if (random() < 0.3 && host !== undefined) {
          hosts.splice(hosts.indexOf(host), 1, join());
          await (random() < 0.5 ? host.die() : host.stop());
        }
        await world.clock.advance(below(200));
      }
      await world.clock.advance('10m');
      for (const limit of limits) {
        const most = limit.perMs === undefined ? mostAtOnce(world.runs) : mostIn(world.runs, limit.perMs);
        expect(most).toBeLessThanOrEqual(limit.max);
      }
      const before = world.runs.length;
      for (const host of hosts) host.runMany(1);
      await world.clock.advance('30s');
      expect(world.runs.length - before).toBe(3);
    },
  );
});
