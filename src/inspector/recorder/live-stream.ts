import type { LiveFrame, Overview } from '../api/live.ts';
import type { RecorderEntry } from './entries.ts';
import type { RecordFilter } from './query.ts';
import type { Ring } from './ring.ts';
import { selected } from './selection.ts';

/** How often there is a frame at most. */
const FRAME_MS = 250;
const RATES_MS = 1_000;
const COMMENT_MS = 15_000;
const MAX_RECORDS = 200;
/** How long a reader has got to take the end before its connection is broken. */
const END_MS = 1_000;
/** How long a browser waits before it connects again. */
const RETRY_MS = 2_000;

export interface LiveStreamDeps {
  readonly ring: Pick<Ring<RecorderEntry>, 'seq' | 'newest'>;
  readonly filter: RecordFilter;
  /** Changes after this one come first. Default: only changes from now on. */
  readonly after: number | undefined;
  readonly rates: () => Omit<Overview, 'attention' | 'recent'>;
  readonly onEnd: () => void;
}

/**
 * Server-sent events for one viewer. They are made when they are read: a slow reader misses records, and nothing waits
 * in memory.
 */
export class LiveStream implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #deps: LiveStreamDeps;
  readonly #abort = new AbortController();
  #sent: number;
  /** How many records were dropped that have changed since the last frame. */
  #missed = 0;
  #nextFrameAt = 0;
  #nextRatesAt = 0;
  #nextCommentAt = 0;
  #state: 'open' | 'closing' | 'over' = 'open';
  #wake: () => void = () => undefined;
  #giveUp: NodeJS.Timeout | undefined;

  constructor(deps: LiveStreamDeps) {
    this.#deps = deps;
    const { seq } = deps.ring;
    // A number of a process before this one is no place in this sequence.
    this.#sent = deps.after === undefined ? seq : deps.after > seq ? 0 : deps.after;
  }

  /** Aborted if the reader does not take the end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (this.#state === 'open') {
      const text = await this.#due(performance.now());
      if (text !== '') return { done: false, value: Buffer.from(text) };
      await this.#pause();
    }
    if (this.#state === 'over') return { done: true, value: undefined };
    this.#end();
    return { done: false, value: Buffer.from('event: ended\ndata: {}\n\n') };
  }

  /** The reader has gone. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  /** Tells the reader that it is over. */
  close(): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    this.#wake();
    this.#giveUp = setTimeout(() => {
      this.#end();
      this.#abort.abort(new Error('the viewer does not read'));
    }, END_MS);
    this.#giveUp.unref();
  }

  /** A record was dropped. With a filter by text, it is not tested against the filter: that would take too long. */
  miss(entry: RecorderEntry): void {
    const { filter } = this.#deps;
    if (entry.seq > this.#sent && filter.text === undefined && filter.matches(entry)) this.#missed++;
  }

  #end(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    clearTimeout(this.#giveUp);
    this.#wake();
    this.#deps.onEnd();
  }

  /** The changes to be sent now. */
  async #due(now: number): Promise<string> {
    let text = '';
    if (now >= this.#nextCommentAt) {
      // With its place, a reader that has got nothing yet can go on after a loss.
      text += this.#nextCommentAt === 0 ? `retry: ${RETRY_MS}\nid: ${this.#sent}\n\n` : ': \n\n';
      this.#nextCommentAt = now + COMMENT_MS;
    }
    if (now >= this.#nextRatesAt) {
      this.#nextRatesAt = now + RATES_MS;
      text += `event: rates\ndata: ${JSON.stringify(this.#deps.rates())}\n\n`;
    }
    if (now >= this.#nextFrameAt && this.#deps.ring.seq > this.#sent) {
      this.#nextFrameAt = now + FRAME_MS;
      text += await this.#frame();
    }
    return text;
  }

  async #frame(): Promise<string> {
    const { ring } = this.#deps;
    const after = this.#sent;
    const changed: RecorderEntry[] = [];
    for (const entry of ring.newest()) if (entry.seq > after) changed.push(entry);
    this.#sent = ring.seq;
    const missed = this.#missed;
    this.#missed = 0;
    const id = this.#sent;
    const meant = await this.#meant(changed);
    if (meant.length + missed === 0) return '';
    const records = meant.slice(0, MAX_RECORDS).reverse();
    const frame: LiveFrame = {
      records: records.map((entry) => entry.record()),
      skipped: missed + meant.length - records.length,
    };
    return `id: ${id}\nevent: records\ndata: ${JSON.stringify(frame)}\n\n`;
  }

  /** At once, unless a text is searched for: of thousands of changes, each turn of the loop would be felt. */
  async #meant(changed: readonly RecorderEntry[]): Promise<readonly RecorderEntry[]> {
    const { filter } = this.#deps;
    if (filter.text === undefined) return changed.filter(filter.matches);
    const meant: RecorderEntry[] = [];
    for await (const entry of selected(changed, filter)) meant.push(entry);
    return meant;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FRAME_MS);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
