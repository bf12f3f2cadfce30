import { EVENT_NAMES } from '../../src/events.ts';
import { type Duration, Sidecar, type SidecarEvents, type SidecarOptions } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { patientClock } from './clock.ts';
import { RecordingLogger } from './logger.ts';

/** An event that `sidecar.events` emitted. */
export interface Emitted {
  readonly name: keyof SidecarEvents;
  readonly info: Readonly<Record<string, unknown>>;
}

/** Options of the sidecar, and its clock. */
export interface TestSidecarOptions extends Partial<Omit<SidecarOptions, 'clock'>> {
  readonly clock?: VirtualClock;
}

/** A sidecar under test, `shop`: its clock stands still, its log and its events are kept. */
export class TestSidecar implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly logger = new RecordingLogger();
  /** All events, in order. */
  readonly events: Emitted[] = [];
  sidecar: Sidecar;
  readonly #options: Omit<TestSidecarOptions, 'clock'>;

  constructor({ clock = patientClock(), ...options }: TestSidecarOptions = {}) {
    this.clock = clock;
    this.#options = options;
    this.sidecar = this.#make();
  }

  #make(): Sidecar {
    const { clock, logger } = this;
    const sidecar = new Sidecar({ appId: 'shop', clock, logger, ...this.#options });
    for (const name of EVENTS) sidecar.events.on(name, (...[info]) => this.events.push({ name, info: { ...info } }));
    return sidecar;
  }

  /** What the events of one name told. */
  emitted(name: keyof SidecarEvents): readonly Emitted['info'][] {
    return this.events.filter((event) => event.name === name).map(({ info }) => info);
  }

  /** Starts the sidecar, and waits until everything has come to rest. */
  async start(): Promise<this> {
    await this.sidecar.start();
    await this.clock.settled();
    return this;
  }

  /** Stops the sidecar. Time passes only for what does not end by itself. */
  async stop(): Promise<void> {
    let isStopped = false;
    const stopped = this.sidecar.stop().finally(() => {
      isStopped = true;
    });
    // Without a timer, it waits for what takes real time: the disk.
    for (let turns = 0; (turns < 50 || this.clock.pendingTimers === 0) && !isStopped; turns++)
      await new Promise((resolve) => setImmediate(resolve));
    if (!isStopped) await this.clock.advance('1h');
    await stopped;
  }

  /** As when the process ends and another one begins, some time later. It has still to be started. */
  protected async replace(later: Duration = 0): Promise<void> {
    await this.stop();
    await this.clock.advance(later);
    this.sidecar = this.#make();
  }

  /** Moves time on, then waits until everything has come to rest, however slow the machine is. */
  async pass(by: Duration): Promise<unknown> {
    await this.clock.advance(by);
    return this.clock.settled();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Every event. The cast is safe: these are the names of the type. */
export const EVENTS = [...EVENT_NAMES] as readonly (keyof SidecarEvents)[];
