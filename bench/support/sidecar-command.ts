import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { disposeOnSignal } from '../../test/support/dispose-on-signal.ts';
import { freePort } from '../../test/support/http.ts';
import { type ComponentFile, writeComponentFile } from './component-file.ts';
import { cpuMicrosOf } from './process-cpu.ts';
import { residentMebibytes } from './resident.ts';

const CLI = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url));
const MAX_START_MS = 60_000;
const LOOK_EVERY_MS = 2;

/** Where the programs of Dapr are, and a directory for files. */
export interface Programs {
  readonly daprd: string;
  /** Of Dapr; without it daprd has no jobs. */
  readonly scheduler: string | undefined;
  /** Of Dapr; without it daprd has no actors. */
  readonly placement?: string | undefined;
  readonly directory: string;
}

/** What a sidecar is to have. */
export interface Wanted {
  /** The components of each command. */
  readonly components?: Readonly<Record<Kind, readonly ComponentFile[]>>;
  readonly appPort?: number;
  /** State of insidecar is on disk. */
  readonly onDisk?: boolean;
  /** Dapr has a scheduler. */
  readonly jobs?: boolean;
  /** Dapr has a scheduler and a placement service. */
  readonly actors?: boolean;
}

export type Kind = 'insidecar' | 'daprd';

/** A sidecar in a process of its own, started by its command. */
export class SidecarCommand implements AsyncDisposable {
  readonly kind: Kind;
  readonly port: number;
  /** From the start of the process to the first answer of its health check. */
  readonly readyMs: number;
  readonly #processes: readonly ChildProcess[];

  private constructor(kind: Kind, port: number, readyMs: number, processes: readonly ChildProcess[]) {
    this.kind = kind;
    this.port = port;
    this.readyMs = readyMs;
    this.#processes = processes;
  }

  static async start(kind: Kind, programs: Programs, wanted: Wanted): Promise<SidecarCommand> {
    const place = await mkdtemp(join(programs.directory, `${kind}-`));
    for (const component of wanted.components?.[kind] ?? []) writeComponentFile(place, component);
    const isDapr = kind === 'daprd';
    const { jobs = false, actors = false } = wanted;
    const scheduler = isDapr && (jobs || actors) ? await startScheduler(programs, place) : undefined;
    const placement = isDapr && actors ? await startPlacement(programs) : undefined;
    const port = await freePort();
    const common = ['--app-id', 'bench', '--resources-path', place];
    if (wanted.appPort !== undefined) common.push('--app-port', String(wanted.appPort));
    const state = wanted.onDisk === true ? ['--state-path', join(place, 'state')] : [];
    const begun = performance.now();
    const child =
      kind === 'insidecar'
        ? run(process.execPath, [CLI, 'run', ...common, ...state, '--http-port', String(port), '--log-level', 'error'])
        : run(programs.daprd, [...common, ...(await daprdFlags(port, scheduler?.port, placement?.port))]);
    await answered(port, child);
    const readyMs = performance.now() - begun;
    const services = [scheduler, placement].flatMap((service) => (service === undefined ? [] : [service.child]));
    return new SidecarCommand(kind, port, readyMs, [child, ...services]);
  }

  /** CPU time of the sidecar, with that of Dapr's scheduler and placement service if they are there. */
  get cpuMicros(): number {
    return this.#processes.reduce((sum, { pid }) => sum + cpuMicrosOf(pid ?? 0), 0);
  }

  /** Resident memory of the sidecar itself. */
  get mebibytes(): number {
    return residentMebibytes(this.#processes[0]?.pid ?? 0);
  }

  /** Resident memory of all that its CPU time counts. */
  get mebibytesInAll(): number {
    return this.#processes.reduce((sum, { pid }) => sum + residentMebibytes(pid ?? 0), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#processes) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
  }
}

function run(program: string, args: readonly string[], cwd?: string): ChildProcess {
  const plain = { NODE_ENV: 'production', NODE_EXTRA_CA_CERTS: undefined, NODE_OPTIONS: undefined };
  // In memory, without `onDisk`: what commands share is on disk.
  const env = { ...process.env, ...plain, INSIDECAR_ISOLATED: 'true' };
  const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  const onSignal = disposeOnSignal({ [Symbol.asyncDispose]: async () => void child.kill('SIGKILL') });
  child.once('exit', () => onSignal[Symbol.dispose]());
  return child;
}

async function daprdFlags(
  port: number,
  scheduler: number | undefined,
  placement: number | undefined,
): Promise<string[]> {
  const [grpc, internal] = [await freePort(), await freePort()];
  const ports = { 'dapr-http-port': port, 'dapr-grpc-port': grpc, 'dapr-internal-grpc-port': internal };
  const flags = Object.entries(ports).flatMap(([name, value]) => [`--${name}`, String(value)]);
  flags.push('--enable-metrics=false', '--log-level', 'fatal', '--dapr-listen-addresses', '127.0.0.1');
  if (scheduler !== undefined) flags.push('--scheduler-host-address', `127.0.0.1:${scheduler}`);
  if (placement !== undefined) flags.push('--placement-host-address', `127.0.0.1:${placement}`);
  return flags;
}

async function startScheduler({ scheduler }: Programs, place: string): Promise<{ child: ChildProcess; port: number }> {
  if (scheduler === undefined) throw new Error('DAPR_SCHEDULER: expected the path of the scheduler');
  const [port, health, client, peer] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const flags = {
    port,
    'healthz-port': health,
    'etcd-client-port': client,
    'etcd-initial-cluster': `bench=http://127.0.0.1:${peer}`,
    'etcd-data-dir': join(place, 'etcd'),
    id: 'bench',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = run(scheduler, [...args, '--enable-metrics=false', '--log-level', 'fatal'], place);
  await answered(health, child, '/healthz');
  return { child, port };
}

async function startPlacement({ placement }: Programs): Promise<{ child: ChildProcess; port: number }> {
  if (placement === undefined) throw new Error('DAPR_PLACEMENT: expected the path of the placement service');
  const [port, health, raft] = [await freePort(), await freePort(), await freePort()];
  const flags = { port, 'healthz-port': health, id: 'bench', 'initial-cluster': `bench=127.0.0.1:${raft}` };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = run(placement, [...args, '--enable-metrics=false', '--log-level', 'fatal']);
  await answered(health, child, '/healthz');
  return { child, port };
}

async function answered(port: number, child: ChildProcess, path = '/v1.0/healthz'): Promise<void> {
  const deadline = performance.now() + MAX_START_MS;
  while (!(await isHealthy(port, path))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} has ended with ${child.exitCode}`);
    if (performance.now() > deadline) throw new Error(`${child.spawnfile} does not answer ${path}`);
    await sleep(LOOK_EVERY_MS);
  }
}

function isHealthy(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ port, path, host: '127.0.0.1', agent: false }, (response) => {
      response.resume();
      resolve((response.statusCode ?? 0) < 300);
    });
    request.on('error', () => resolve(false));
  });
}
