import { SidecarError } from '../../errors.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import type { LiveRecord, Overview } from '../api/live.ts';
import type { PayloadOption } from '../payload.ts';
import { Counters } from './counters.ts';
import type { RecorderEntry } from './entries.ts';
import { KeptPayloads } from './kept-payload.ts';
import { counting, listen, recording } from './listening.ts';
import { LiveStream } from './live-stream.ts';
import { MessageLog } from './message-log.ts';
import { isFailure, type RecordFilter } from './query.ts';
import { Ring } from './ring.ts';
import { RunLog } from './run-log.ts';
import { selected } from './selection.ts';

/** Options of a {@link Recorder}. */
export interface RecorderOptions {
  /** Whether to record while somebody looks, or always. */
  readonly record: 'watched' | 'always';
  readonly payloads: PayloadOption;
}

/** The limits of a recorder. */
export interface RecorderLimits {
  readonly records: number;
  /** Of the payloads that are kept. */
  readonly bytes: number;
  readonly viewers: number;
  /** How long it goes on recording after somebody has looked. */
  readonly lingerMs: number;
}

const LIMITS: RecorderLimits = { records: 10_000, bytes: 16 * 1024 * 1024, viewers: 8, lingerMs: 5 * 60_000 };
/** How many records an overview has, and among how many it looks for them. */
const RECENT = { records: 20, lookedAt: 1_000 };

/** Records of a page. */
interface Page {
  readonly records: readonly LiveRecord[];
  readonly cursor: number | undefined;
}

/**
 * Sees what a sidecar does. It always counts; while somebody looks, it also records. Its time is that of the system, also
 * where the sidecar's is another one.
 */
export class Recorder {
  readonly #sidecar: Pick<Sidecar, 'events' | 'health'>;
  readonly #options: RecorderOptions;
  readonly #limits: RecorderLimits;
  readonly #counters = new Counters(Date.now);
  readonly #ring: Ring<RecorderEntry>;
  readonly #messages: MessageLog;
  readonly #runs: RunLog;
  readonly #streams = new Set<LiveStream>();
  readonly #stopCounting: () => void;
  #stopRecording: (() => void) | undefined;
  #since: number | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    sidecar: Pick<Sidecar, 'events' | 'health'>,
    options: RecorderOptions,
    limits: Partial<RecorderLimits> = {},
  ) {
    this.#sidecar = sidecar;
    this.#options = options;
    this.#limits = { ...LIMITS, ...limits };
    this.#ring = new Ring(this.#limits, (entry) => this.#forget(entry));
    const deps = { ring: this.#ring, now: Date.now };
    this.#messages = new MessageLog(deps, new KeptPayloads(options.payloads));
    this.#runs = new RunLog(deps);
    this.#stopCounting = listen(sidecar.events, counting(this.#counters));
    if (options.record === 'always') this.#record();
  }

  /** Since when it records, in milliseconds since 1970; `undefined` if it does not. */
  get recordingSince(): number | undefined {
    return this.#since;
  }

  /** The kept records. */
  get kept(): Pick<Ring<RecorderEntry>, 'size' | 'capacity' | 'bytes' | 'hasDropped'> {
    return this.#ring;
  }

  /** Somebody looks: it records from now on, until some time after the last one. */
  watch(): void {
    if (this.#isClosed) return;
    this.#record();
    this.#linger();
  }

  /** The newest records that are meant, before those of a cursor. */
  async page(filter: RecordFilter, limit: number, before?: number): Promise<Page> {
    const records: LiveRecord[] = [];
    let last: number | undefined;
    for await (const entry of selected(this.#ring.newest(before), filter)) {
      if (records.length === limit) return { records, cursor: last };
      records.push(entry.record());
      last = entry.id;
    }
    return { records, cursor: undefined };
  }

  find(key: string): RecorderEntry | undefined {
    return /^\d{1,15}$/.test(key) ? this.#ring.get(Number(key)) : undefined;
  }

  /** The newest failures, filled up with other records; the newest first. */
  recent(): readonly LiveRecord[] {
    const failures: RecorderEntry[] = [];
    const others: RecorderEntry[] = [];
    let lookedAt = 0;
    for (const entry of this.#ring.newest()) {
      if (++lookedAt > RECENT.lookedAt || failures.length === RECENT.records) break;
      if (isFailure(entry)) failures.push(entry);
      else if (others.length < RECENT.records) others.push(entry);
    }
    const chosen = [...failures, ...others].slice(0, RECENT.records).sort((one, other) => other.id - one.id);
    return chosen.map((entry) => entry.record());
  }

  /** The numbers of now. */
  rates(): Omit<Overview, 'attention' | 'recent'> {
    const p95Ms = this.#counters.p95Ms();
    return {
      at: Date.now(),
      health: this.#sidecar.health.state(),
      series: this.#counters.series(),
      ...(p95Ms === undefined ? undefined : { p95Ms }),
    };
  }

  /**
   * Streams records as they change, from now on, or from after a number of the sequence.
   *
   * @throws SidecarError `ERR_TOO_MANY_VIEWERS`; `ERR_SHUTTING_DOWN` after the end.
   */
  stream(filter: RecordFilter, after?: number): LiveStream {
    const { viewers } = this.#limits;
    if (this.#isClosed) throw new SidecarError('ERR_SHUTTING_DOWN', 'the sidecar is stopping');
    if (this.#streams.size >= viewers)
      throw new SidecarError(
        'ERR_TOO_MANY_VIEWERS',
        `there are ${viewers} viewers already: at most ${viewers} may look`,
        {
          headers: { 'retry-after': '5' },
        },
      );
    const stream: LiveStream = new LiveStream({
      ring: this.#ring,
      filter,
      after,
      rates: () => this.rates(),
      onEnd: () => {
        this.#streams.delete(stream);
        this.#linger();
      },
    });
    this.#streams.add(stream);
    this.watch();
    return stream;
  }

  /** Ends the streams, and everything else. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopCounting();
    this.#counters.close();
    this.#forgetAll();
    for (const stream of this.#streams) stream.close();
  }

  #record(): void {
    if (this.#stopRecording !== undefined) return;
    this.#since = Date.now();
    this.#stopRecording = listen(this.#sidecar.events, recording(this.#messages, this.#runs));
  }

  /** Stops recording after some time without a reader. */
  #linger(): void {
    clearTimeout(this.#lingering);
    if (this.#isClosed || this.#options.record === 'always' || this.#streams.size > 0) return;
    this.#lingering = setTimeout(() => this.#forgetAll(), this.#limits.lingerMs);
    this.#lingering.unref();
  }

  #forgetAll(): void {
    clearTimeout(this.#lingering);
    this.#stopRecording?.();
    this.#stopRecording = undefined;
    this.#since = undefined;
    this.#ring.clear();
    this.#messages.clear();
    this.#runs.clear();
  }

  #forget(entry: RecorderEntry): void {
    if (entry.kind === 'message') this.#messages.forget(entry);
    else if (entry.kind !== 'call') this.#runs.forget(entry);
    for (const stream of this.#streams) stream.miss(entry);
  }
}
