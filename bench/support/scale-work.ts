/** What bench/fleet.ts --scale asks a process for. */
export type ScaleTask =
  | { readonly ask: 'publish' | 'workflow' | 'idle'; readonly from: number; readonly count: number }
  | { readonly ask: 'schedule'; readonly from: number; readonly count: number; readonly dueAt: number }
  | { readonly ask: 'raise'; readonly ids: readonly number[] }
  | { readonly ask: 'go' | 'usage' };

/** The answer: how long the work took, and what the process has done since its start. */
export interface ScaleReply {
  readonly number: number;
  readonly tookMs: number;
  readonly error?: string;
  readonly messages: number;
  readonly jobs: number;
  readonly calls: number;
  readonly cpuMicros: number;
}
