import { inProcess } from './http/in-process.ts';
import { sockets } from './http/socket.ts';
import type { Target } from './portion.ts';

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
];
