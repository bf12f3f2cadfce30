import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { pause, until } from './broker-world.ts';
import { freePort } from './http.ts';
import { RecordingLogger } from './logger.ts';
import type { OwnServer } from './servers.ts';
import { TcpProxy } from './tcp-proxy.ts';

const CONSUMER = fileURLToPath(new URL('broker-consumer.mjs', import.meta.url));

/** Acknowledged messages, of which a fault may lose some. */
const ENOUGH = 200;

/** A broker that a test may kill. */
export interface BrokerForFaults {
  readonly server: OwnServer;
  /** The entry point and the function that make the component, in processes of their own. */
  readonly entry: string;
  readonly factory: string;
  /** The options of the component for a broker at a port of 127.0.0.1. They must be plain JSON. */
  options(port: number): object;
  /** The same component in this process. */
  define(port: number): PubSubDefinition;
  /** Prepares a topic before its first use, for brokers that need that. */
  createTopic?(topic: string): Promise<void>;
}

/** What a broker promises, and what it does not. */
export interface FaultPromises {
  /** After a SIGKILL of its consumer, a message is with another one after at most this time. */
  readonly redeliveryMs: number;
  /** Options under which the broker redelivers what is not settled for a short time, and a time longer than that. */
  readonly lease?: { readonly options: object; readonly handlerMs: number };
  /** Why a kill of the broker may lose acknowledged messages: it is ended in its place. */
  readonly losesAtKill?: string;
  /** Why even a broker that ends in order may lose them. */
  readonly losesAtEnd?: string;
  /** Why consumers of one group do not share its messages. */
  readonly sharing?: string;
}

/** A line of a consumer. */
interface Noted {
  readonly what: 'ready' | 'began' | 'done' | 'settled';
  readonly id: string;
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
}

interface ConsumerOptions {
  readonly handlerMs?: number;
  /** The first attempts of each message that fail. */
  readonly failsFirst?: number;
  readonly concurrency?: number;
  /** Beside those that the broker needs. */
  readonly options?: object;
}

/** Publishers and consumers around one topic, and a record of what each of them did. */
class FaultRun implements AsyncDisposable {
  readonly acknowledged = new Set<string>();
  refused = 0;
  readonly #broker: BrokerForFaults;
  readonly #port: number;
  readonly #directory: string;
  readonly #topic = `faults-${randomUUID()}`;
  readonly #appId = `app-${randomUUID()}`;
  readonly #children: ChildProcess[] = [];
  readonly #complaints: string[] = [];
  readonly #publisher: Sidecar;

  private constructor(broker: BrokerForFaults, port: number, directory: string) {
    this.#broker = broker;
    this.#port = port;
    this.#directory = directory;
    this.#publisher = new Sidecar({
      appId: 'publisher',
      components: [broker.define(port)],
      logger: new RecordingLogger(),
    });
  }

  static async start(broker: BrokerForFaults, port = broker.server.port): Promise<FaultRun> {
    const run = new FaultRun(broker, port, await mkdtemp(join(tmpdir(), 'insidecar-faults-')));
    await broker.createTopic?.(run.#topic);
    await run.#publisher.start();
    return run;
  }

  get #log(): string {
    return join(this.#directory, 'log');
  }

  async noted(what: Noted['what']): Promise<readonly Noted[]> {
    const text = await readFile(this.#log, 'utf8').catch(() => '');
    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split(' '));
    return lines
      .filter(([name]) => name === what)
      .map(([, id = '', attempt, pid, at]) => ({
        what,
        id,
        attempt: Number(attempt),
        pid: Number(pid),
        at: Number(at),
      }));
  }

  /** Starts a consumer and waits until it consumes. */
  async consumer(given: ConsumerOptions = {}): Promise<ChildProcess> {
    const { handlerMs = 0, failsFirst = 0, concurrency = 10, options = {} } = given;
    const { entry, factory } = this.#broker;
    const settings = {
      ...{ entry, factory, appId: this.#appId, topic: this.#topic, log: this.#log },
      ...{ handlerMs, failsFirst, concurrency, options: { ...this.#broker.options(this.#port), ...options } },
    };
    const child = spawn(process.execPath, [CONSUMER, JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.on('data', (chunk: Buffer) => this.#complaints.push(chunk.toString()));
    this.#children.push(child);
    await this.#until('the consumer is ready', async () =>
      (await this.noted('ready')).some(({ pid }) => pid === child.pid),
    );
    return child;
  }

  /**
   * Publishes for some time, and notes what the broker has acknowledged: on a busy machine for longer, until that is
   * enough to lose something of.
   */
  async publish(forMs: number, perSecond = 200): Promise<void> {
    const endAt = performance.now() + forMs;
    const sent: Promise<void>[] = [];
    while (performance.now() < endAt || this.acknowledged.size <= ENOUGH) {
      sent.push(this.#publishOne());
      await pause(1_000 / perSecond);
    }
    await Promise.all(sent);
  }

  async publishMany(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#publishOne()));
  }

  async #publishOne(): Promise<void> {
    const id = randomUUID();
    const event = { specversion: '1.0', type: 'fault', source: 'test', id, data: 'x'.repeat(100) };
    try {
      await this.#publisher.pubsub.publish('pubsub', this.#topic, event, {
        contentType: 'application/cloudevents+json',
      });
      this.acknowledged.add(id);
    } catch {
      this.refused++;
    }
  }

  /** Waits until every acknowledged message is processed; returns those that never were. */
  async lost(patienceMs: number): Promise<readonly string[]> {
    const missing = async (): Promise<string[]> => {
      const done = new Set((await this.noted('done')).map(({ id }) => id));
      return [...this.acknowledged].filter((id) => !done.has(id));
    };
    await until('all was processed', async () => (await missing()).length === 0, patienceMs).catch(() => undefined);
    return missing();
  }

  /** How often messages were processed more than once. */
  async duplicates(): Promise<number> {
    const done = await this.noted('done');
    return done.length - new Set(done.map(({ id }) => id)).size;
  }

  /** Until messages that a process had when it was killed were with another one: the longest of all, in milliseconds. */
  async redeliveryMs(pid: number | undefined, killedAt: number): Promise<number> {
    const began = await this.noted('began');
    const waits = (await this.#open(pid)).map((id) =>
      Math.min(...began.filter((one) => one.id === id && one.pid !== pid).map(({ at }) => at)),
    );
    if (waits.length === 0) throw new Error('the killed process had no message');
    return Math.max(...waits) - killedAt;
  }

  /** The messages that a process has begun and not finished. */
  async #open(pid: number | undefined): Promise<readonly string[]> {
    const [done, began] = [await this.noted('done'), await this.noted('began')];
    const finished = new Set(done.filter((one) => one.pid === pid).map(({ id }) => id));
    return began.filter((one) => one.pid === pid && !finished.has(one.id)).map(({ id }) => id);
  }

  /** Waits until a process has a message. */
  async hasOpen(pid: number | undefined): Promise<void> {
    await this.#until('a process has a message', async () => (await this.#open(pid)).length > 0);
  }

  async #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    try {
      await until(what, holds, 30_000);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${this.#complaints.join('').slice(-2_000)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => end(child, 'SIGKILL')));
    await this.#publisher.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** Nothing that a broker has acknowledged is lost, whatever fails. The broker, one for all tests, must be their own. */
export function brokerFaults(name: string, open: () => Promise<BrokerForFaults>, promises: FaultPromises): void {
  describe(`faults on ${name}`, { timeout: 120_000 }, () => {
    let broker: BrokerForFaults;
    beforeAll(async () => {
      broker = await open();
    }, 90_000);
    afterAll(() => broker?.server[Symbol.asyncDispose]());

    test.skipIf(promises.sharing !== undefined)('SIGKILL of a consumer', async () => {
      const timeOfRedelivery = async (): Promise<number> => {
        await using run = await FaultRun.start(broker);
        const victim = await run.consumer({ handlerMs: 100 });
        await run.consumer();
        const published = run.publish(3_000);
        await pause(1_500);
        await run.hasOpen(victim.pid);
        const killedAt = Date.now();
        await end(victim, 'SIGKILL');
        await published;
        expect(await run.lost(60_000)).toEqual([]);
        expect(run.acknowledged.size).toBeGreaterThan(100);
        return run.redeliveryMs(victim.pid, killedAt);
      };
      // A busy machine takes longer now and then, not each time.
      let tries = 0;
      while (tries < 3 && (await timeOfRedelivery()) >= promises.redeliveryMs) tries++;
      expect(tries).toBeLessThan(3);
    });

    test('SIGKILL of the only consumer, which starts again', async () => {
      await using run = await FaultRun.start(broker);
      const victim = await run.consumer({ handlerMs: 30 });
      const published = run.publish(3_000);
      await pause(1_500);
      await end(victim, 'SIGKILL');
      await run.consumer();
      await published;
      expect(await run.lost(60_000)).toEqual([]);
      expect(run.acknowledged.size).toBeGreaterThan(100);
    });

    const ending = promises.losesAtKill === undefined ? 'SIGKILL' : 'a regular end';
    test.skipIf(promises.losesAtEnd !== undefined)(`${ending} of the broker, which starts again`, async () => {
      await using run = await FaultRun.start(broker);
      await run.consumer({ handlerMs: 5 });
      const published = run.publish(6_000);
      await pause(1_500);
      await (promises.losesAtKill === undefined ? broker.server.kill() : broker.server.stop());
      await pause(500);
      await broker.server.restart();
      await published;
      await run.publish(1_000);
      expect(await run.lost(60_000)).toEqual([]);
      expect(run.acknowledged.size).toBeGreaterThan(200);
    });

    test('connections that break every 1.5 s', async () => {
      await using proxy = await TcpProxy.start(broker.server.port);
      await using run = await FaultRun.start(broker, proxy.port);
      await run.consumer({ handlerMs: 5 });
      const timer = setInterval(() => proxy.cut(), 1_500);
      await run.publish(6_500).finally(() => clearInterval(timer));
      expect(await run.lost(60_000)).toEqual([]);
      expect(run.acknowledged.size).toBeGreaterThan(200);
    });

    test('a broker that is away: the log says once for each reason that it is lost, and once that it is back', {
      timeout: 90_000,
    }, async () => {
      await using proxy = await TcpProxy.start(broker.server.port);
      const logger = new RecordingLogger();
      const topic = `outage-${randomUUID()}`;
      await broker.createTopic?.(topic);
      await using sidecar = new Sidecar({ appId: 'outage', components: [broker.define(proxy.port)], logger });
      await sidecar.start();
      const received: unknown[] = [];
      await sidecar.pubsub.subscribe('pubsub', topic, ({ data }) => void received.push(data));
      const told = (message: string) => logger.lines.filter((line) => line.message === message);
      const [lost, back] = ['no connection to the server: trying again', 'connected to the server again'];
      proxy.target = await freePort();
      proxy.cut();
      await until('the loss is logged', () => told(lost).length > 0);
      await pause(1_500);
      expect(told(back)).toEqual([]);
      proxy.target = broker.server.port;
      await until('the return is logged', () => told(back).length > 0);
      await until('a message arrives', async () => {
        await sidecar.pubsub.publish('pubsub', topic, 'after').catch(() => undefined);
        return received.length > 0;
      });
      const reasons = told(lost).map(({ details }) => (details as { error: string }).error);
      expect(new Set(reasons).size).toBe(reasons.length);
      expect(told(back)).toMatchObject([
        { level: 'info', details: { server: expect.stringContaining(String(proxy.port)) } },
      ]);
    });

    test('a broker that stands still for three seconds', async () => {
      await using run = await FaultRun.start(broker);
      await run.consumer();
      const published = run.publish(5_000);
      await pause(1_000);
      broker.server.signal('SIGSTOP');
      await pause(3_000);
      broker.server.signal('SIGCONT');
      await published;
      expect(await run.lost(60_000)).toEqual([]);
      expect(run.acknowledged.size).toBeGreaterThan(100);
    });

    test('a slow consumer gets each message once', async () => {
      await using run = await FaultRun.start(broker);
      await run.consumer({ handlerMs: 100, concurrency: 4 });
      await run.publishMany(200);
      expect(await run.lost(60_000)).toEqual([]);
      expect([run.acknowledged.size, await run.duplicates()]).toEqual([200, 0]);
    });

    test('messages that are refused at first', async () => {
      await using run = await FaultRun.start(broker);
      const consumer = await run.consumer({ failsFirst: 2 });
      await run.publishMany(100);
      expect(await run.lost(60_000)).toEqual([]);
      expect((await run.noted('done')).map(({ attempt }) => attempt)).toEqual(Array.from({ length: 100 }, () => 3));
      await end(consumer, 'SIGTERM');
    });

    test.skipIf(promises.lease === undefined)('a handler that takes longer than the lease', async () => {
      await using run = await FaultRun.start(broker);
      const { options = {}, handlerMs = 0 } = promises.lease ?? {};
      await run.consumer({ options, handlerMs });
      if (promises.sharing === undefined) await run.consumer({ options, handlerMs });
      await run.publishMany(10);
      expect(await run.lost(60_000)).toEqual([]);
      await pause(2_000);
      expect((await run.noted('began')).map(({ attempt }) => attempt)).toEqual(Array.from({ length: 10 }, () => 1));
    });
  });
}
