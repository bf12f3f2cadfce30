import { readdirSync, readFileSync } from 'node:fs';

/** A tick of /proc on Linux. */
const MICROS_PER_TICK = 10_000;
/** Fields of /proc/<pid>/stat, counted behind the name, which may have spaces. */
const PARENT = 1;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
/** Of the children that have ended. */
const ENDED_USER_TICKS = 13;
const ENDED_SYSTEM_TICKS = 14;

function statOf(pid: number | string): readonly string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function microsOf(stat: readonly string[]): number {
  return (Number(stat[USER_TICKS]) + Number(stat[SYSTEM_TICKS])) * MICROS_PER_TICK;
}

/** CPU time of a process since its start, all threads included; on Linux. */
export function cpuMicrosOf(pid: number): number {
  return microsOf(statOf(pid));
}

/** CPU time of a process and of all that it has started; on Linux. */
export function cpuMicrosOfServer(pid: number): number {
  const own = statOf(pid);
  const ended = Number(own[ENDED_USER_TICKS]) + Number(own[ENDED_SYSTEM_TICKS]);
  let micros = microsOf(own) + ended * MICROS_PER_TICK;
  for (const other of readdirSync('/proc')) {
    if (!/^\d+$/.test(other)) continue;
    try {
      const stat = statOf(other);
      if (stat[PARENT] === String(pid)) micros += microsOf(stat);
    } catch {
      // It has ended meanwhile.
    }
  }
  return micros;
}
