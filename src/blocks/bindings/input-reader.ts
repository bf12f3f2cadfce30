import { type Backoff, backoffDelayMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { outside } from '../../util/outside.ts';
import { logged, thrown } from '../failure.ts';
import type { BindingsServiceDeps } from './bindings-deps.ts';

/** The binding that is read. */
export interface ReadInput {
  readonly name: string;
  /** Whether the application gets the events without being asked. */
  readonly isSubscribed: boolean;
  /** Whether code handles the events. */
  readonly hasHandler: () => boolean;
  /** Reads until the signal is aborted. */
  readonly read: (signal: AbortSignal) => Promise<void>;
}

const BACKOFF: Backoff = { initialDelayMs: 1_000, maxDelayMs: 60_000, factor: 2, jitter: 0.2 };

/** Reads one input binding while somebody wants its events. */
export class InputReader {
  readonly #deps: Pick<BindingsServiceDeps, 'clock' | 'logger' | 'random'>;
  readonly #input: ReadInput;
  #isSubscribed: boolean;
  #isRunning = false;
  #reading: AbortController | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(deps: Pick<BindingsServiceDeps, 'clock' | 'logger' | 'random'>, input: ReadInput) {
    this.#deps = deps;
    this.#input = input;
    this.#isSubscribed = input.isSubscribed;
  }

  /** Whether somebody gets its events. */
  get isReading(): boolean {
    return this.#reading !== undefined;
  }

  /** The application has said whether it wants the events. */
  subscribe(isSubscribed: boolean): void {
    this.#isSubscribed = isSubscribed;
    this.update();
  }

  /** The sidecar runs. */
  start(): void {
    this.#isRunning = true;
    this.update();
  }

  /** Resolves when no delivery is under way. */
  stop(): Promise<void> {
    this.#isRunning = false;
    this.update();
    return this.#ended;
  }

  /** Begins or ends reading. */
  update(): void {
    const isWanted = this.#isRunning && (this.#isSubscribed || this.#input.hasHandler());
    if (isWanted === (this.#reading !== undefined)) return;
    if (!isWanted) {
      this.#reading?.abort(new Error('nobody wants the events of the binding now'));
      this.#reading = undefined;
      return;
    }
    const reading = new AbortController();
    this.#reading = reading;
    const before = this.#ended;
    // One after the other: the deliveries of the reading before may be under way.
    this.#ended = before.then(() => this.#read(reading.signal));
  }

  /** Never rejects. Reads again what has ended without being asked to. */
  async #read(signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#deps;
    const { name, read } = this.#input;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await outside(() => read(signal));
        if (!signal.aborted) logger.warn({ binding: name }, 'an input binding has ended: it is read again');
      } catch (error) {
        if (signal.aborted) return;
        logger.error({ binding: name, ...logged(thrown(error)) }, 'an input binding cannot be read: it is tried again');
      }
      await sleep(clock, backoffDelayMs(BACKOFF, attempt, random), signal).catch(() => undefined);
    }
  }
}
