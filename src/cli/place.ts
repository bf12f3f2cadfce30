import type { Clock } from '../util/clock.ts';
import type { Output } from './output.ts';

/** Where the command runs: what it reads and writes of the process around it. */
export interface Place {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Whether a person reads standard error. */
  readonly isTerminal: boolean;
  /** Whether something other than a terminal is at standard input. */
  readonly hasInput: boolean;
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
  readonly clock: Clock;
  /** Calls back when the process is asked to stop, by a signal or because nobody reads its output any more. */
  readonly onStopSignal: (listener: (signal: NodeJS.Signals) => void) => void;
}
