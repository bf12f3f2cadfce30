import { readFileSync } from 'node:fs';
import { quote, StateError } from '../../state/errors.ts';
import { logFileOf, wasLeftOpen } from './directory.ts';

/*
 * SQLite ends the recovery of its log at the first frame whose checksum does not fit: after a power failure, the last
 * transaction may be there in part (sqlite.org/walformat.html). But a transaction begins only when the one before is
 * synced. So if two transactions end behind that frame, it is damaged, and SQLite would lose at least the first of them.
 */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
/** Of the header and of a frame header: the part that a checksum covers. */
const CHECKED_HEADER_BYTES = 24;
const CHECKED_FRAME_BYTES = 8;
const PAGE_SIZE_AT = 8;
const SALTS_AT = 16;
const FRAME_SALTS_AT = 8;
const SALTS_BYTES = 8;
const CHECKSUM_AT = 24;
const FRAME_CHECKSUM_AT = 16;
const COMMIT_AT = 4;
const WORD_BYTES = 4;

/** Two sums of words, each of 32 bits. */
type Sums = readonly [number, number];

/** The files that a process has left behind. */
interface Remains {
  readonly wasOpen: boolean;
  readonly log: Buffer;
}

/**
 * Checks the log that a process has left behind, before SQLite opens it: that would remove what it cannot read.
 *
 * There is no lock yet. So damage counts only if it is the same twice: a process that has the directory open may be
 * writing.
 *
 * @returns a warning if commits may be lost
 * @throws StateError `corrupt` if commits are lost
 */
export function checkLog(path: string): string | undefined {
  const found = remainsOf(path);
  const damage = damageOf(found);
  if (damage === undefined) return undefined;
  const again = remainsOf(path);
  if (again.wasOpen !== found.wasOpen || !again.log.equals(found.log)) return undefined;
  const message = `The log of the state directory ${quote(path)}, its file state.db-wal, ${damage}`;
  if (found.log.length > 0)
    throw new StateError('corrupt', `${message}: commits are lost. Restore the directory from a copy.`);
  // Other programs that have had the database open since have moved the log into it.
  return `${message}: commits may be lost, unless another program has had the database open since.`;
}

function remainsOf(path: string): Remains {
  return { wasOpen: wasLeftOpen(path), log: readLog(path) };
}

function readLog(path: string): Buffer {
  try {
    return readFileSync(logFileOf(path));
  } catch {
    return Buffer.alloc(0);
  }
}

function damageOf({ wasOpen, log }: Remains): string | undefined {
  if (log.length === 0) return wasOpen ? 'is missing or empty, although the last process was not stopped' : undefined;
  // Before the first sync of its header, a log has nothing to lose.
  if (!wasOpen && log.length <= HEADER_BYTES) return undefined;
  const frames = Frames.of(log);
  if (frames === undefined) return 'has a damaged header';
  const damaged = frames.damaged();
  return damaged === undefined ? undefined : `is damaged in frame ${damaged + 1} of ${frames.count}`;
}

/** The frames of a log. */
class Frames {
  readonly #log: Buffer;
  readonly #isBigEndian: boolean;
  readonly #frameBytes: number;
  readonly count: number;

  private constructor(log: Buffer) {
    this.#log = log;
    this.#isBigEndian = log.readUInt32BE(0) !== MAGIC;
    this.#frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(PAGE_SIZE_AT);
    this.count = Math.floor((log.length - HEADER_BYTES) / this.#frameBytes);
  }

  /** The frames of a log; `undefined` if its header is damaged. */
  static of(log: Buffer): Frames | undefined {
    if (log.length < HEADER_BYTES || (log.readUInt32BE(0) & ~1) >>> 0 !== MAGIC) return undefined;
    const frames = new Frames(log);
    return isSame(frames.#sum(0, CHECKED_HEADER_BYTES, [0, 0]), frames.#sumsAt(CHECKSUM_AT)) ? frames : undefined;
  }

  /** The number of a frame that does not fit although later transactions are there. */
  damaged(): number | undefined {
    const first = this.#firstInvalid();
    let ends = 0;
    for (let frame = first; frame < this.count; frame++) if (this.#isOfLog(frame) && this.#isCommit(frame)) ends++;
    return ends > 1 ? first : undefined;
  }

  /** The first frame with which SQLite ends its recovery. */
  #firstInvalid(): number {
    let sums = this.#sumsAt(CHECKSUM_AT);
    for (let frame = 0; frame < this.count; frame++) {
      const at = this.#at(frame);
      sums = this.#sum(at, CHECKED_FRAME_BYTES, sums);
      sums = this.#sum(at + FRAME_HEADER_BYTES, this.#frameBytes - FRAME_HEADER_BYTES, sums);
      if (!this.#isOfLog(frame) || !isSame(sums, this.#sumsAt(at + FRAME_CHECKSUM_AT))) return frame;
    }
    return this.count;
  }

  /** Frames behind the end have the salts of an earlier round of the log. */
  #isOfLog(frame: number): boolean {
    const at = this.#at(frame) + FRAME_SALTS_AT;
    return this.#log.compare(this.#log, SALTS_AT, SALTS_AT + SALTS_BYTES, at, at + SALTS_BYTES) === 0;
  }

  #isCommit(frame: number): boolean {
    return this.#log.readUInt32BE(this.#at(frame) + COMMIT_AT) > 0;
  }

  #at(frame: number): number {
    return HEADER_BYTES + frame * this.#frameBytes;
  }

  #sum(from: number, bytes: number, [first, second]: Sums): Sums {
    let [a, b] = [first, second];
    for (let at = from; at < from + bytes; at += 2 * WORD_BYTES) {
      a = (a + this.#word(at) + b) >>> 0;
      b = (b + this.#word(at + WORD_BYTES) + a) >>> 0;
    }
    return [a, b];
  }

  #word(at: number): number {
    return this.#isBigEndian ? this.#log.readUInt32BE(at) : this.#log.readUInt32LE(at);
  }

  #sumsAt(at: number): Sums {
    return [this.#log.readUInt32BE(at), this.#log.readUInt32BE(at + WORD_BYTES)];
  }
}

function isSame(one: Sums, other: Sums): boolean {
  return one[0] === other[0] && one[1] === other[1];
}
