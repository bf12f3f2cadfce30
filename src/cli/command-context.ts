import type { Clock } from '../util/clock.ts';
import type { Output } from './output.ts';

/** The command's environment: the parts of the process that it reads and writes. */
export interface CommandContext {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Whether standard error is a terminal. */
  readonly isTerminal: boolean;
  /** The width of the terminal of standard output; `undefined` if standard output is no terminal. */
  readonly columns: number | undefined;
  /** Asks a yes-or-no question; `undefined` without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
  /** Whether standard input is not a terminal. */
  readonly hasInput: boolean;
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
  readonly clock: Clock;
  /** Calls back when the process is asked to stop, by a signal or because the reader of its output has gone. */
  readonly onStopSignal: (listener: (signal: NodeJS.Signals) => void) => void;
}
