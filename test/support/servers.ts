import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from './http.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';

/** A server that a test has started for itself, on a free port and in a directory of its own. */
export class OwnServer implements AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  readonly #start: () => Promise<ChildProcess>;
  #child: ChildProcess;

  private constructor(port: number, directory: string, start: () => Promise<ChildProcess>, child: ChildProcess) {
    this.port = port;
    this.directory = directory;
    this.#start = start;
    this.#child = child;
  }

  static async start(port: number, directory: string, start: () => Promise<ChildProcess>): Promise<OwnServer> {
    return new OwnServer(port, directory, start, await start());
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** As after a crash of the machine, but for its disk. */
  async kill(): Promise<void> {
    await ended(this.#child, 'SIGKILL');
  }

  async restart(): Promise<void> {
    this.#child = await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ended(this.#child, 'SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  // A process that stands still takes no other signal.
  child.kill('SIGCONT');
  child.kill(signal);
  await exit;
}

/** Whether tests that need a server can run; without it they are skipped with a line that says why, and fail in CI. */
function isAvailable(what: string, isThere: boolean, remedy: string): boolean {
  if (isThere) return true;
  const message = `${what} is missing: ${remedy}`;
  if (process.env['CI'] !== undefined) throw new Error(message);
  process.stderr.write(`skipped: ${message}\n`);
  return false;
}

/** The user to run a server as: PostgreSQL refuses to run as root. */
export function servant(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, 'postgres']).stdout));
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

function postgresqlBinaries(): string | undefined {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

/** Whether PostgreSQL can be started. */
export function hasPostgresql(): boolean {
  return isAvailable('PostgreSQL', postgresqlBinaries() !== undefined, 'install it ("apt install postgresql")');
}

/** A new directory that belongs to the user of the server. */
async function postgresqlDirectory(): Promise<string> {
  const owner = servant();
  const directory = await mkdtemp('/tmp/insidecar-pg-');
  if (owner !== undefined) await chown(directory, owner.uid, owner.gid);
  return directory;
}

/** Runs a program of PostgreSQL to its end, as the user of the servers. */
async function runPostgresqlTool(name: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(join(postgresqlBinaries() ?? '', name), args, { ...servant(), cwd, stdio: 'pipe' });
  let written = '';
  child.stderr.on('data', (part: Buffer) => {
    written += part.toString();
  });
  child.stdout.resume();
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${name} failed: ${written}`);
}

/** Starts a PostgreSQL server; `settings` as in postgresql.conf. */
export async function startPostgresql(settings: readonly string[] = []): Promise<OwnServer> {
  const directory = await postgresqlDirectory();
  await runPostgresqlTool(
    'initdb',
    ['-D', 'data', '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8'],
    directory,
  );
  return servePostgresql(directory, settings, 'database system is ready to accept connections');
}

/** Starts a standby of a server, which it reaches at `primaryPort`; `ready` is in the line that says that it works. */
export async function startStandby(
  primaryPort: number,
  settings: readonly string[] = [],
  ready = 'ready to accept read',
): Promise<OwnServer> {
  const directory = await postgresqlDirectory();
  const source = ['-h', '127.0.0.1', '-p', String(primaryPort), '-U', 'postgres'];
  await runPostgresqlTool('pg_basebackup', ['-D', 'data', '-R', '-c', 'fast', '--no-sync', ...source], directory);
  return servePostgresql(directory, settings, ready);
}

async function servePostgresql(directory: string, settings: readonly string[], ready: string): Promise<OwnServer> {
  const port = await freePort();
  const options = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${directory}`, ...settings];
  const args = ['-D', join(directory, 'data'), ...options.flatMap((option) => ['-c', option])];
  return OwnServer.start(port, directory, async () => {
    for (;;) {
      const child = spawn(join(postgresqlBinaries() ?? '', 'postgres'), args, {
        ...servant(),
        cwd: directory,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      try {
        await said(child, ready);
        return child;
      } catch (error) {
        // The processes of a server that was killed notice it a moment later.
        if (!String(error).includes('pre-existing shared memory block')) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  });
}

/** Whether PgBouncer can be started. */
export function hasPgbouncer(): boolean {
  return isAvailable('PgBouncer', existsSync(PGBOUNCER), 'install it ("apt install pgbouncer")');
}

/** Starts PgBouncer in transaction mode in front of a server. */
export async function startPgbouncer(serverPort: number): Promise<OwnServer> {
  const directory = await postgresqlDirectory();
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  const users = join(directory, 'users.txt');
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    'default_pool_size = 2',
  ];
  await writeFile(file, `${settings.join('\n')}\n`);
  await writeFile(users, '"postgres" ""\n');
  return OwnServer.start(port, directory, async () => {
    const child = spawn(PGBOUNCER, [file], { ...servant(), cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
    await said(child, 'process up');
    return child;
  });
}

/** Whether Redis can be started. */
export function hasRedis(): boolean {
  const isThere = spawnSync('redis-server', ['--version']).status === 0;
  return isAvailable('Redis', isThere, 'install it ("apt install redis-server")');
}

/** Starts a Redis server that syncs each write; `settings` as on its command line, `--name value`. */
export async function startRedis(settings: readonly string[] = []): Promise<OwnServer> {
  const directory = await mkdtemp('/tmp/insidecar-redis-');
  const port = await freePort();
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  const args = [...place, '--appendonly', 'yes', '--appendfsync', 'always', ...settings];
  return runRedis(port, directory, args, 'Ready to accept connections');
}

/** Runs `redis-server` with arguments; `ready` is in the line that says that it works. */
export function runRedis(port: number, directory: string, args: readonly string[], ready: string): Promise<OwnServer> {
  return OwnServer.start(port, directory, async () => {
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    await said(child, ready);
    return child;
  });
}

/** Waits for a line in what a process writes. */
async function said(child: ChildProcess, text: string): Promise<void> {
  let written = '';
  await new Promise<void>((resolve, reject) => {
    const look = (part: Buffer): void => {
      written = (written + part.toString()).slice(-4_000);
      if (written.includes(text)) resolve();
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.once('exit', (code) => reject(new Error(`the server has ended with ${code}: ${written}`)));
  });
}
