import { readFileSync } from 'node:fs';

/** The resident memory of a process, in MiB; on Linux. */
export function residentMebibytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}
