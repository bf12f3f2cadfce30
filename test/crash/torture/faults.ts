import { setTimeout as sleep } from 'node:timers/promises';
import { nowUs } from './host-process.ts';
import type { Slot, Torture } from './torture.ts';

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
  /** For some seconds, the wall clock of a host is ahead or behind. */
  readonly clock: number;
  /** For some seconds, the disk of an embedded store is full. */
  readonly full: number;
  /** For some seconds, each of its syncs takes longer. */
  readonly slow: number;
  /** Its syncs fail, after which nobody knows what is on it: the host is killed, as a supervisor would. */
  readonly sync: number;
}

export type Fault = keyof FaultCounts;

/** A host stopped or was killed. */
export interface Ending {
  readonly how: 'kill' | 'stop';
  readonly life: number;
  readonly at: number;
}

const MAX_CLOCK_OFFSET_MS = 20_000;

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
    if (fault === 'pause') await this.pause(this.#pauseMs());
    if (fault === 'cut') this.#cut();
    if (fault === 'hole') this.#inBackground(this.#hole());
    if (fault === 'crash') await this.#crash();
    if (fault === 'clock') this.#inBackground(this.#setClock());
    if (fault === 'full' || fault === 'slow' || fault === 'sync') await this.#failDisk(fault);
  }

  /** Longer than a lease, where there are others who would take over. */
  #pauseMs(): number {
    const { random, slots } = this.#torture;
    return slots.length === 1 ? 1_000 + random() * 4_000 : 15_000 + random() * 10_000;
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
  async #anySlot(): Promise<Slot> {
    const ready = (): Slot[] => this.#torture.slots.filter(({ host }) => host.isReady);
    await this.#torture.until(() => ready().length > 0, 60_000, 'a host is up');
    const slots = ready();
    return slots[Math.floor(this.#torture.random() * slots.length)] as Slot;
  }

  /** Ends a host, and starts another one in its place. Default: any one. */
  async end(how: 'kill' | 'stop', given?: Slot): Promise<Ending> {
    const slot = given ?? (await this.#anySlot());
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
    for (const slot of slots) if (isForAll || slot === only) slot.proxy?.cut();
  }

  async #hole(): Promise<void> {
    const { slots, random } = this.#torture;
    const proxy = slots[Math.floor(random() * slots.length)]?.proxy;
    if (proxy === undefined) return;
    proxy.isBlackHole = true;
    await sleep(2_000 + random() * 10_000);
    proxy.isBlackHole = false;
    // What was lost in it is missing in the stream.
    proxy.cut();
  }

  async #crash(): Promise<void> {
    await this.#torture.server?.kill();
    await sleep(this.#torture.random() * 1_000);
    await this.#torture.server?.restart();
  }

  /** As when somebody sets the clock, and sets it right again. */
  async #setClock(): Promise<void> {
    const { random } = this.#torture;
    const { host } = await this.#anySlot();
    host.ask({ what: 'clock', offsetMs: Math.round((random() * 2 - 1) * MAX_CLOCK_OFFSET_MS) });
    await sleep(2_000 + random() * 8_000);
    host.ask({ what: 'clock', offsetMs: 0 });
  }

  /** Only while nothing else happens: a host that starts on a full disk is one that does not start. */
  async #failDisk(how: 'full' | 'slow' | 'sync'): Promise<void> {
    const { disk, random } = this.#torture;
    if (disk === undefined) return;
    const isUp = ({ host }: Slot): boolean => host.isReady || host.isPaused;
    await this.#torture.until(() => this.#torture.slots.every(isUp), 60_000, 'no host starts or stops');
    if (how === 'full') disk.fill();
    if (how === 'slow') disk.slowDown(20 + random() * 300);
    if (how === 'sync') disk.breakSyncs();
    await this.#torture.pass(200 + random() * (how === 'sync' ? 500 : 3_000));
    // The disk fails for the host that writes to it.
    const { holder } = this.#torture;
    if (how === 'sync') await holder.host.kill();
    disk.heal();
    if (how === 'sync') this.#torture.replace(holder);
  }
}
