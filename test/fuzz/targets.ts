import { inProcess } from './http/in-process.ts';
import { sockets } from './http/socket.ts';
import { re2 } from './parsers/re2.ts';
import { resources } from './parsers/resources.ts';
import { rules } from './parsers/rules.ts';
import { schedules } from './parsers/schedules.ts';
import type { Target } from './portion.ts';
import { files } from './state/files.ts';
import { rows } from './state/rows.ts';

/** What is fuzzed in the suite, and how. */
interface Fuzzed {
  readonly target: Target;
  /** How long, in milliseconds, beside the kept seeds. */
  readonly forMs: number;
  /** Seeds of portions that have found something. */
  readonly kept: readonly number[];
}

/** Everything that is fuzzed. */
export const FUZZED: readonly Fuzzed[] = [
  { target: inProcess, forMs: 15_000, kept: [1, 117] },
  { target: sockets, forMs: 15_000, kept: [2] },
  { target: schedules, forMs: 6_000, kept: [] },
  { target: rules, forMs: 6_000, kept: [] },
  { target: re2, forMs: 6_000, kept: [721986493] },
  { target: resources, forMs: 8_000, kept: [] },
  { target: rows, forMs: 10_000, kept: [2, 3] },
  { target: files, forMs: 10_000, kept: [50021] },
];
