import { setTimeout as sleep } from 'node:timers/promises';
import { nowUs } from './host-process.ts';
import type { Torture } from './torture.ts';

/** How many of each fault. */
export interface FaultCounts {
  /** A host is killed, and another one starts in its place. */
  readonly kill: number;
  /** A host stands still for longer than its lease. */
  readonly pause: number;
  /** A host stops gracefully, and another one starts in its place. */
  readonly stop: number;
  /** The connections of a host, or of all, are cut. */
  readonly cut: number;
  /** For some seconds, nothing gets from a host to the server or back. */
  readonly hole: number;
  /** The server is killed, and started again on its data. */
  readonly crash: number;
}

export type Fault = keyof FaultCounts;

/** A host stopped or was killed. */
export interface Ending {
  readonly how: 'kill' | 'stop';
  readonly life: number;
  readonly at: number;
}

/** Does faults to the hosts. */
export class Faults {
  readonly endings: Ending[] = [];
  readonly #torture: Torture;
  /** What goes on in the background: hosts that stand still, holes. */
  readonly #underWay = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];

  constructor(torture: Torture) {
    this.#torture = torture;
  }

  /** All of them, at random moments of some seconds, or at equal distances; resolves when all are over. */
  async run(counts: Partial<FaultCounts>, seconds: number, isEven = false): Promise<void> {
    const { random } = this.#torture;
    const all = (Object.entries(counts) as [Fault, number][])
      .flatMap(([fault, count]) => Array.from({ length: count }, () => ({ fault, at: random() })))
      .sort((a, b) => a.at - b.at);
    const plan = all.map(({ fault, at }, index) => ({
      fault,
      atMs: (isEven ? index / all.length : at) * seconds * 1_000,
    }));
    const startedAt = nowUs();
    for (const { fault, atMs } of plan) {
      await this.#torture.pass(Math.max(0, atMs - (nowUs() - startedAt) / 1_000));
      await this.do(fault);
    }
    await this.#torture.pass(Math.max(0, seconds * 1_000 - (nowUs() - startedAt) / 1_000));
    await this.over();
  }

  /** Resolves when nothing stands still any more. */
  async over(): Promise<void> {
    await Promise.all(this.#underWay);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Does one; a pause and a hole go on after it. */
  async do(fault: Fault): Promise<void> {
    if (fault === 'kill' || fault === 'stop') await this.end(fault);
    if (fault === 'pause') await this.pause(15_000 + this.#torture.random() * 10_000);
    if (fault === 'cut') this.#cut();
    if (fault === 'hole') this.#inBackground(this.#hole());
    if (fault === 'crash') await this.#crash();
  }

  #inBackground(task: Promise<void>): void {
    // What fails is found at the end.
    const tracked: Promise<void> = task.then(
      () => void this.#underWay.delete(tracked),
      (error: unknown) => void this.#failures.push(error),
    );
    this.#underWay.add(tracked);
  }

  /** A slot whose host is up and does not stand still. */
  async #anySlot(): Promise<Torture['slots'][number]> {
    const ready = (): Torture['slots'] => this.#torture.slots.filter(({ host }) => host.isReady);
    await this.#torture.until(() => ready().length > 0, 60_000, 'a host is up');
    const slots = ready();
    return slots[Math.floor(this.#torture.random() * slots.length)] as Torture['slots'][number];
  }

  /** Ends a host, and starts another one in its place. */
  async end(how: 'kill' | 'stop'): Promise<Ending> {
    const slot = await this.#anySlot();
    const { host } = slot;
    const ending = { how, life: host.life, at: nowUs() };
    this.endings.push(ending);
    // A stop may take its time while the server is away: the others go on.
    const ended = how === 'kill' ? host.kill() : host.stop();
    const replaced = ended.then(() => this.#torture.replace(slot));
    if (how === 'kill') await replaced;
    else this.#inBackground(replaced);
    return ending;
  }

  /** Has a host stand still, and go on after a time. */
  async pause(ms: number): Promise<void> {
    // Of three, two must go on.
    await this.#torture.until(
      () => !this.#torture.hosts.some(({ isPaused }) => isPaused),
      60_000,
      'no host stands still',
    );
    const { host } = await this.#anySlot();
    host.pause();
    this.#inBackground(sleep(ms).then(() => host.resume()));
  }

  #cut(): void {
    const { slots, random } = this.#torture;
    const isForAll = random() < 0.2;
    const only = slots[Math.floor(random() * slots.length)];
    for (const slot of slots) if (isForAll || slot === only) slot.proxy.cut();
  }

  async #hole(): Promise<void> {
    const { slots, random } = this.#torture;
    const { proxy } = slots[Math.floor(random() * slots.length)] as Torture['slots'][number];
    proxy.isBlackHole = true;
    await sleep(2_000 + random() * 10_000);
    proxy.isBlackHole = false;
    // What was lost in it is missing in the stream.
    proxy.cut();
  }

  async #crash(): Promise<void> {
    await this.#torture.server.kill();
    await sleep(this.#torture.random() * 1_000);
    await this.#torture.server.restart();
  }
}
