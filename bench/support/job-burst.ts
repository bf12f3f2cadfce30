import { setTimeout } from 'node:timers/promises';
import { type Contender, FIRST, startContender } from './contender.ts';
import type { JobsServerArgument } from './jobs-server.ts';
import { Load } from './load.ts';
import type { BenchOptions } from './options.ts';
import { median } from './stats.ts';

const JOBS = 5_000;
/** From the first schedule to the instant at which all are due; twice as long when that was too short. */
const LEAD_MS = 6_000;
/** The ends of the last runs are recorded within this time. */
const RECORDED_MS = 150;
const POLL_MS = 10;

/** A part of the work: how fast it went, and the sidecar's CPU time for each job. */
class Figures {
  readonly #rates: number[] = [];
  readonly #cpuMicros: number[] = [];

  add(jobs: number, seconds: number, cpuMicros: number): void {
    this.#rates.push(jobs / seconds);
    this.#cpuMicros.push(cpuMicros / jobs);
  }

  row(label: string): string[] {
    const rate = Math.round(median(this.#rates)).toLocaleString('en');
    return [`insidecar: ${label}`, rate, `${median(this.#cpuMicros).toFixed(0)} µs CPU`];
  }
}

/** One round in a process: first cold, then warm. */
class Burst {
  readonly first = new Figures();
  readonly scheduled = new Figures();
  readonly ran = new Figures();
  readonly both = new Figures();

  rows(state: string): string[][] {
    return [
      this.scheduled.row(`5,000 scheduled over HTTP, ${state}: jobs/s`),
      this.ran.row(`… due at one instant, run over HTTP, ${state}: jobs/s`),
      this.both.row(`… both together, ${state}: jobs/s`),
    ];
  }
}

interface BurstDeps {
  readonly server: Contender;
  readonly app: Contender;
  readonly data: object;
  readonly connections: number;
  readonly leadMs: number;
}

/**
 * Schedules jobs that are all due at one instant, and has the application run them; `false` if the instant came before
 * all were scheduled.
 */
async function runBurst(
  burst: Burst,
  names: string,
  { server, app, data, connections, leadMs }: BurstDeps,
): Promise<boolean> {
  const dueAt = Date.now() + leadMs;
  const body = JSON.stringify({ dueTime: new Date(dueAt).toISOString(), data });
  const path = (index: number): string => `/v1.0-alpha1/jobs/${names}-${index}`;
  const load = await Load.open({ port: server.port, connections, path, body });
  const before = await server.usage();
  const { seconds: firstSeconds } = await load.send(FIRST);
  const afterFirst = await server.usage();
  const { seconds: restSeconds } = await load.send(JOBS - FIRST);
  const scheduled = await server.usage();
  load.close();
  if (Date.now() > dueAt) return false;
  const { delivered } = await app.usage();
  let arrived = await app.usage();
  for (; arrived.delivered < delivered + JOBS; arrived = await app.usage()) await setTimeout(POLL_MS);
  await setTimeout(RECORDED_MS);
  const ended = await server.usage();
  const runSeconds = (arrived.lastDeliveredAt - dueAt) / 1_000;
  const scheduleSeconds = firstSeconds + restSeconds;
  burst.first.add(FIRST, firstSeconds, afterFirst.cpuMicros - before.cpuMicros);
  burst.scheduled.add(JOBS, scheduleSeconds, scheduled.cpuMicros - before.cpuMicros);
  burst.ran.add(JOBS, runSeconds, ended.cpuMicros - scheduled.cpuMicros);
  burst.both.add(JOBS, scheduleSeconds + runSeconds, ended.cpuMicros - before.cpuMicros);
  return true;
}

/** 5,000 jobs, all due at one instant, to an application on a port: in new processes, and once more in the same ones. */
export async function jobBurstRows(options: BenchOptions, data: object, newPath: () => string): Promise<string[][]> {
  const { connections, profile } = options;
  const [cold, warm] = [new Burst(), new Burst()];
  const app = await startContender('./jobs-app-server.ts', 'app');
  let leadMs = LEAD_MS;
  for (let round = 0; round < Math.min(5, options.rounds); ) {
    const argument = JSON.stringify({ path: newPath(), appPort: app.port } satisfies JobsServerArgument);
    const server = await startContender('./jobs-server.ts', 'burst', { profile, argument });
    const deps = { server, app, data, connections, leadMs };
    if ((await runBurst(cold, 'cold', deps)) && (await runBurst(warm, 'warm', deps))) round++;
    else leadMs *= 2;
    await server.stop();
  }
  await app.stop();
  return [
    cold.first.row('first 2,000 requests after a start, schedules/s over HTTP'),
    ...cold.rows('cold'),
    ...warm.rows('warm'),
  ];
}
