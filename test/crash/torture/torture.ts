import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readHolder } from '../../../src/components/embedded/directory.ts';
import { canFailDisk, FailingDisk } from '../../support/failing-disk.ts';
import { type OwnServer, startPostgresql, startRedis } from '../../support/servers.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { unfired } from './actor-checks.ts';
import { openBeside, workIn } from './beside.ts';
import { undone, unfinished, withoutEvent } from './checks.ts';
import { Events } from './events.ts';
import { HostProcess, type HostSetup, nowUs } from './host-process.ts';
import { randomOf } from './random.ts';
import { Records } from './records.ts';

/**
 * `embedded` is one host on a directory, whose disk can fail; `directory` is three hosts on one, of which one holds it;
 * the others are three hosts on a server.
 */
export type Engine = 'embedded' | 'directory' | 'postgresql' | 'redis';

export const ENGINES: readonly Engine[] = ['embedded', 'directory', 'postgresql', 'redis'];

/** Options of {@link Torture}. */
export interface TortureOptions {
  readonly engine: Engine;
  readonly seed: number;
  /** Whether hosts can call each other; else all goes through the store. Default: they can. */
  readonly hasAddresses?: boolean;
  /** How much each host does; 1 is about 40 calls per second. Default 1. */
  readonly pace?: number;
  /** Whether the commits of the hosts have no fences. Default: no. */
  readonly isUnfenced?: boolean;
  /** The limit of a host's heap in MiB. Default: Node's. */
  readonly heapMb?: number | undefined;
}

const HOSTS = 3;
export const TICK_MS = 500;
export const COUNTER_TICK_MS = 1_000;
const PLACE = 'torture';
const READ_EVERY_MS = 100;
/** How often it is told what it waits for at the end. */
const TELL_EVERY_MS = 20_000;
/** How long the hosts may need for the rest of the work, once nothing fails any more. */
const MAX_REST_MS = 90_000;

/** A host's place: who is there changes, the way to the server stays. */
export interface Slot {
  readonly number: number;
  /** None without a server. */
  readonly proxy: TcpProxy | undefined;
  host: HostProcess;
}

/** The hosts of one application on one store, each a process that reaches the server through a proxy of its own. */
export class Torture implements AsyncDisposable {
  readonly records = new Records();
  readonly lives: HostProcess[] = [];
  readonly random: () => number;
  /** None for a directory. */
  readonly server: OwnServer | undefined;
  /** For a directory only, where a disk can be made to fail. */
  readonly disk: FailingDisk | undefined;
  readonly slots: Slot[] = [];
  /** The messages and jobs that the store had at the end, when all was done. */
  left: readonly string[] = [];
  readonly #options: TortureOptions;
  readonly #directory: string;
  readonly #events: Events;
  readonly #unread = new Set<HostProcess>();
  readonly #reading: NodeJS.Timeout;
  /** Rejects when a host falls by itself. */
  readonly #failed: Promise<never>;
  #fail: (error: unknown) => void = () => undefined;

  private constructor(options: TortureOptions, server: OwnServer | undefined, directory: string) {
    this.#options = options;
    this.server = server;
    this.disk = server === undefined && canFailDisk() ? FailingDisk.build(directory) : undefined;
    this.#directory = directory;
    this.random = randomOf(options.seed);
    this.#events = new Events(this.records, this.random);
    this.#failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.#failed.catch(() => undefined);
    this.#reading = setInterval(() => this.#read(), READ_EVERY_MS);
  }

  /** Starts the server and the hosts; resolves when all are up. */
  static async start(options: TortureOptions): Promise<Torture> {
    const server = await startServer(options.engine);
    const torture = new Torture(options, server, await mkdtemp(join(tmpdir(), 'insidecar-torture-')));
    for (let number = 0; number < torture.#size; number++) {
      const proxy = server === undefined ? undefined : await TcpProxy.start(server.port);
      torture.slots.push({ number, proxy, host: torture.#spawn(number, proxy) });
    }
    await torture.until(() => torture.hosts.every(({ isUp }) => isUp), 30_000, 'all hosts are up');
    for (const host of torture.hosts) host.ask({ what: 'work' });
    return torture;
  }

  /** How many hosts there are at a time. */
  get #size(): number {
    return this.engine === 'embedded' ? 1 : HOSTS;
  }

  get hosts(): readonly HostProcess[] {
    return this.slots.map(({ host }) => host);
  }

  get engine(): Engine {
    return this.#options.engine;
  }

  /** The schema or prefix. */
  get place(): string {
    return PLACE;
  }

  /** The address of the server, without a proxy; or the directory. */
  get url(): string {
    return this.#url(this.server?.port);
  }

  #url(port: number | undefined): string {
    if (port === undefined) return join(this.#directory, 'state');
    return this.engine === 'redis' ? `redis://127.0.0.1:${port}` : `postgresql://postgres@127.0.0.1:${port}/postgres`;
  }

  /** The slot of the host that has the directory open for the others; the first one if it is not known. */
  get holder(): Slot {
    const [first] = this.slots;
    if (first === undefined) throw new Error('there are no hosts');
    return this.slots.find(({ host }) => host.pid === readHolder(this.url)?.pid) ?? first;
  }

  /** Whether a workflow is there that waits for its event. */
  isWaiting(workflow: string): boolean {
    return this.records.calls.get(`start ${workflow}`)?.result === 'ok' && this.#events.has(workflow);
  }

  #spawn(slot: number, proxy: TcpProxy | undefined): HostProcess {
    const { hasAddresses = true, pace = 1, isUnfenced = false, heapMb } = this.#options;
    const setup: HostSetup = {
      ...{
        life: this.lives.length,
        slot,
        url: this.#url(proxy?.port),
        place: PLACE,
        hasAddress: hasAddresses,
        pace,
        isUnfenced,
      },
      ...{
        hosts: this.#size,
        isFirst: this.lives.length < this.#size,
        ticks: 12,
        tickMs: TICK_MS,
        // Calls of actors are forwarded: hosts without an address have none.
        counters: hasAddresses ? 12 : 0,
        counterTickMs: COUNTER_TICK_MS,
      },
      ...{ topics: ['orders1', 'orders2', 'orders3'], orderedTopics: ['ordered1', 'ordered2'] },
    };
    const host = new HostProcess(setup, this.#directory, this.disk?.environment, heapMb);
    this.lives.push(host);
    this.#unread.add(host);
    host.fell().catch(this.#fail);
    return host;
  }

  /** Starts a new host in a slot. */
  replace(slot: Slot): void {
    slot.host = this.#spawn(slot.number, slot.proxy);
  }

  /** Waits for a condition; rejects after a time, and when a host falls by itself. */
  async until(isMet: () => boolean, limitMs: number, what: string): Promise<void> {
    const giveUpAt = nowUs() + limitMs * 1_000;
    while (!isMet()) {
      if (nowUs() > giveUpAt) throw new Error(`not within ${limitMs} ms: ${what}`);
      await this.pass(50);
    }
  }

  /** Lets time pass; rejects when a host falls by itself meanwhile. */
  async pass(ms: number): Promise<void> {
    await Promise.race([sleep(ms), this.#failed]);
  }

  #read(): void {
    for (const host of this.#unread) {
      const hasEnded = host.endedAt !== undefined;
      for (const line of host.newLines()) {
        const kind = this.records.add(host.life, line);
        if (kind === 'U') host.isUp = true;
        if (kind === 'V') host.results++;
      }
      if (!hasEnded) continue;
      this.#events.gone(host);
      this.#unread.delete(host);
      host.close();
    }
    this.#events.ask(this.hosts);
  }

  /** No new work; waits for all that was begun, reads the workflows and stops the hosts. */
  async rest(limitMs: number = MAX_REST_MS): Promise<void> {
    await this.until(() => this.hosts.every(({ isUp }) => isUp), 60_000, 'all hosts are up for the end');
    for (const host of this.hosts) host.ask({ what: 'rest' });
    const isOver = (): boolean => this.#events.areDone && this.#openCalls() === 0 && undone(this.records).length === 0;
    // What is not done then is reported by the checks.
    const waiting = setInterval(() => console.log(this.#waitsFor()), TELL_EVERY_MS);
    await this.until(isOver, limitMs, '').catch(() => undefined);
    clearInterval(waiting);
    await this.#readResults(limitMs);
    // An embedded store is open once: its host must have ended.
    if (this.engine === 'embedded') await this.#stop();
    await this.#readLeft(limitMs);
    if (this.engine !== 'embedded') await this.#stop();
  }

  #waitsFor(): string {
    const left = undone(this.records);
    const some = left.slice(0, 5).join(', ');
    return `rests: ${this.#openCalls()} calls are open, ${left.length} messages and jobs are not done: ${some}`;
  }

  async #stop(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.stop()));
    this.#read();
    this.#read();
  }

  #openCalls(): number {
    const living = new Set(this.hosts.map(({ life }) => life));
    let count = 0;
    for (const { life, endedAt } of this.records.calls.values()) if (living.has(life) && endedAt === undefined) count++;
    return count;
  }

  /** Reads what workflows and actors have become. */
  async #readResults(limitMs: number): Promise<void> {
    const [host] = this.hosts;
    if (host === undefined) return;
    const giveUpAt = nowUs() + limitMs * 1_000;
    const isOver = (): boolean => unfinished(this.records).length === 0 && unfired(this.records).length === 0;
    do {
      const { results } = host;
      host.ask({ what: 'results' });
      await this.until(() => host.results > results, MAX_REST_MS, 'workflows and actors are read');
      for (const id of withoutEvent(this.records)) this.#events.demand(id);
      if (!isOver()) await this.pass(1_000);
    } while (!isOver() && nowUs() < giveUpAt);
  }

  /** Messages whose publishing was not acknowledged may be there, and are found with the next poll. */
  async #readLeft(limitMs: number): Promise<void> {
    await using store = await openBeside(this);
    const giveUpAt = nowUs() + limitMs * 1_000;
    for (this.left = await workIn(store); this.left.length > 0 && nowUs() < giveUpAt; this.left = await workIn(store))
      await this.pass(500);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#reading);
    await Promise.all(this.hosts.filter(({ endedAt }) => endedAt === undefined).map((host) => host.kill()));
    for (const { proxy } of this.slots) await proxy?.[Symbol.asyncDispose]();
    await this.server?.[Symbol.asyncDispose]();
    this.disk?.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function startServer(engine: Engine): Promise<OwnServer | undefined> {
  if (engine === 'embedded' || engine === 'directory') return undefined;
  return engine === 'redis' ? startRedis() : startPostgresql();
}
