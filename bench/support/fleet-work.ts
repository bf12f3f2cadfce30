/** What a process of bench/fleet.ts can do; what it cannot is absent. */
export interface Worker {
  /** Runs a workflow of three steps to its end. */
  workflow?(): Promise<unknown>;
  /** The same, with an ID that the caller gives, so that mostly another process runs it. */
  named?(): Promise<unknown>;
  /** Publishes a message that this or another process settles. */
  publish?(): Promise<unknown>;
  /** Schedules a job that this or another process runs. */
  schedule?(name: string, dueAt: number): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens a worker; it calls `done` for each message settled and each job run. */
export type WorkerMaker = (done: () => void) => Promise<Worker>;

/** What the benchmark asks a process for. */
export interface Task {
  readonly work: 'workflow' | 'named' | 'publish' | 'schedule';
  readonly atOnce: number;
  readonly count: number;
  /** When the jobs are due. By default, as soon as they are scheduled. */
  readonly dueAt?: number;
  /** Begins the names of the jobs. */
  readonly name: string;
}

/** What a process tells: how many things were done since it last told, and whether the calls of a task have ended. */
export interface Told {
  readonly done: number;
  readonly hasEnded: boolean;
  /** What the process has used of the processors since its start. */
  readonly cpuMicros: number;
}

/** The input of everything. */
export const ORDER = { orderId: 4711, customer: 'c-0815', items: [1, 2, 3], note: 'x'.repeat(120) };
