import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { freePort } from './http.ts';
import { SKIPPED } from './test-reporter.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';

/** A server that a test has started for itself, on a free port and in a directory of its own. */
export class OwnServer implements AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  readonly #start: () => Promise<ChildProcess>;
  readonly #attendant: ChildProcess | undefined;
  #child: ChildProcess;

  private constructor(
    { port, directory }: Pick<OwnServer, 'port' | 'directory'>,
    start: () => Promise<ChildProcess>,
    child: ChildProcess,
    attendant: ChildProcess | undefined,
  ) {
    this.port = port;
    this.directory = directory;
    this.#start = start;
    this.#child = child;
    this.#attendant = attendant;
  }

  /** `attendant` is a process that the server needs and that outlives it. */
  static async start(
    port: number,
    directory: string,
    start: () => Promise<ChildProcess>,
    attendant?: ChildProcess,
  ): Promise<OwnServer> {
    return new OwnServer({ port, directory }, start, await start(), attendant);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** As after a crash of the machine, but for its disk. */
  async kill(): Promise<void> {
    // Those of PostgreSQL would serve their connections until they notice that the first one is gone.
    const children = childrenOf(this.pid);
    await ended(this.#child, 'SIGKILL');
    for (const pid of children) killed(pid);
  }

  /** As when it is told to end. */
  async stop(): Promise<void> {
    await ended(this.#child, 'SIGTERM');
  }

  async restart(): Promise<void> {
    this.#child = await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ended(this.#child, 'SIGKILL');
    if (this.#attendant !== undefined) await ended(this.#attendant, 'SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The processes that a process has started; none where the system does not tell. */
function childrenOf(pid: number): readonly number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
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
  console.warn(`${SKIPPED}${message}`);
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

/** Runs a program of PostgreSQL to its end, as the user of the servers; answers what it prints. */
async function runPostgresqlTool(name: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(join(postgresqlBinaries() ?? '', name), args, { ...servant(), cwd, stdio: 'pipe' });
  const [printed, told] = [child.stdout, child.stderr].map((stream) => text(stream));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${name} failed: ${await told}`);
  return (await printed) ?? '';
}

/** What `pg_dump` writes of a database; `args` say how and what. */
export function dumpPostgresql({ port, directory }: OwnServer, ...args: readonly string[]): Promise<string> {
  const place = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
  return runPostgresqlTool('pg_dump', [...place, ...args], directory);
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

/** Whether PgBouncer can be started. It is not asked of a machine for CI, as it is no server that state is kept on. */
export function hasPgbouncer(): boolean {
  const isThere = existsSync(PGBOUNCER);
  if (!isThere) console.warn(`${SKIPPED}PgBouncer is missing: install it ("apt install pgbouncer")`);
  return isThere;
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

/** Starts the server proper: the program on the path runs as another user only. */
const RABBITMQ = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** Whether RabbitMQ can be started. */
export function hasRabbitmq(): boolean {
  return isAvailable('RabbitMQ', existsSync(RABBITMQ), 'install it ("apt install rabbitmq-server")');
}

/** Starts a RabbitMQ of a name, a port mapper, a cookie and a directory of its own, without plugins. */
export async function startRabbitmq(settings: readonly string[] = []): Promise<OwnServer> {
  const directory = await mkdtemp('/tmp/insidecar-rabbitmq-');
  const [port, nodePort, mapperPort] = [await freePort(), await freePort(), await freePort()];
  const file = (name: string): string => join(directory, name);
  await writeFile(file('.erlang.cookie'), randomUUID(), { mode: 0o400 });
  await writeFile(file('plugins'), '[].\n');
  await writeFile(file('rabbitmq.conf'), [`listeners.tcp.1 = 127.0.0.1:${port}`, ...settings, ''].join('\n'));
  const env = {
    ...process.env,
    HOME: directory,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(mapperPort),
    RABBITMQ_NODENAME: `insidecar-${port}@localhost`,
    RABBITMQ_DIST_PORT: String(nodePort),
    RABBITMQ_MNESIA_BASE: file('data'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_ENABLED_PLUGINS_FILE: file('plugins'),
    RABBITMQ_CONFIG_FILE: file('rabbitmq'),
    RABBITMQ_CONF_ENV_FILE: file('none'),
    RABBITMQ_PID_FILE: file('pid'),
    // The script becomes the server, which signals then reach.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
  // In the foreground: the server would start one that nobody ends.
  await writeFile(file('mapper-port'), String(mapperPort));
  const mapper = spawn('epmd', ['-port', String(mapperPort)], { env, stdio: 'ignore' });
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(RABBITMQ, { env, cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    await said(child, 'Server startup complete');
    return child;
  };
  return OwnServer.start(port, directory, start, mapper);
}

/** Whether Mosquitto can be started. */
export function hasMosquitto(): boolean {
  const isThere = spawnSync('mosquitto', ['-h']).error === undefined;
  return isAvailable('Mosquitto', isThere, 'install it ("apt install mosquitto")');
}

/**
 * Starts a Mosquitto that keeps its sessions over a restart and all messages of each; `settings` as in mosquitto.conf,
 * those of its listener first.
 */
export async function startMosquitto(settings: readonly string[] = ['allow_anonymous true']): Promise<OwnServer> {
  const directory = await mkdtemp('/tmp/insidecar-mqtt-');
  const port = await freePort();
  const file = join(directory, 'mosquitto.conf');
  // It drops privileges when root runs it.
  const place = [`user ${userInfo().username}`, 'persistence true', `persistence_location ${directory}/`];
  const limits = ['autosave_interval 1', 'max_queued_messages 0', 'max_inflight_messages 1000'];
  const lines = [`listener ${port} 127.0.0.1`, ...settings, ...place, ...limits];
  await writeFile(file, `${lines.join('\n')}\n`);
  return OwnServer.start(port, directory, async () => {
    const child = spawn('mosquitto', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    await said(child, ' running');
    return child;
  });
}

/** Runs `rabbitmqctl` on a server of the test's own. */
export async function rabbitmqctl({ port, directory }: OwnServer, ...args: readonly string[]): Promise<void> {
  const env = {
    ...process.env,
    HOME: directory,
    ERL_EPMD_PORT: await readFile(join(directory, 'mapper-port'), 'utf8'),
    RABBITMQ_NODENAME: `insidecar-${port}@localhost`,
    RABBITMQ_CONF_ENV_FILE: join(directory, 'none'),
  };
  const child = spawn(join(dirname(RABBITMQ), 'rabbitmqctl'), args, { env, cwd: directory, stdio: 'ignore' });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`rabbitmqctl ${args.join(' ')} has ended with ${code}`);
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

/** Whether NATS can be started. */
export function hasNats(): boolean {
  const isThere = spawnSync('nats-server', ['--version']).status === 0;
  return isAvailable('NATS', isThere, 'install it ("apt install nats-server")');
}

/** Starts a NATS server; `settings` as in its configuration file, `jetstream` as in that section of it. */
export async function startNats(settings: readonly string[] = [], jetstream: string | null = ''): Promise<OwnServer> {
  const directory = await mkdtemp('/tmp/insidecar-nats-');
  const port = await freePort();
  const file = join(directory, 'nats.conf');
  const store = jetstream === null ? [] : [`jetstream { store_dir: ${directory}, ${jetstream} }`];
  const listen = settings.some((line) => line.startsWith('listen:')) ? [] : [`listen: 127.0.0.1:${port}`];
  await writeFile(file, [...listen, ...store, ...settings].join('\n'));
  return OwnServer.start(port, directory, async () => {
    const child = spawn('nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
    await said(child, 'Server is ready');
    return child;
  });
}

/** The sources of a broker that speaks the protocol of Kafka: there is none to install. */
const KAFKA = fileURLToPath(new URL('kafka', import.meta.url));

function goBinary(): string | undefined {
  return ['go', '/usr/local/go/bin/go'].find((go) => spawnSync(go, ['version']).status === 0);
}

/**
 * Whether the broker that speaks the protocol of Kafka can be started. Builds it, which may take minutes where nothing of
 * Go is there yet: before the tests, which have time limits.
 */
export function hasKafka(): boolean {
  const go = goBinary();
  const isThere = isAvailable('Go', go !== undefined, 'install Go 1.26 or later, which builds test/support/kafka');
  if (go !== undefined) buildKafka(go);
  return isThere;
}

/** Outside of the repository, and for the same sources once. */
function kafkaBinary(): string {
  const hash = createHash('sha256');
  for (const name of ['main.go', 'go.mod', 'go.sum']) hash.update(readFileSync(join(KAFKA, name)));
  return join(tmpdir(), `insidecar-kafka-${userInfo().uid}-${hash.digest('hex').slice(0, 16)}`);
}

function buildKafka(go: string): void {
  const binary = kafkaBinary();
  if (existsSync(binary)) return;
  const built = `${binary}-${randomUUID()}`;
  const { status, stderr } = spawnSync(go, ['build', '-mod=readonly', '-o', built, '.'], {
    cwd: KAFKA,
    env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' },
  });
  if (status !== 0) throw new Error(`test/support/kafka could not be built: ${String(stderr).slice(-2_000)}`);
  renameSync(built, binary);
}

/** Starts a broker that speaks the protocol of Kafka and creates topics of one partition; `args` as in its source. */
export async function startKafka(args: readonly string[] = []): Promise<OwnServer> {
  const binary = kafkaBinary();
  const directory = await mkdtemp('/tmp/insidecar-kafka-');
  const port = await freePort();
  return OwnServer.start(port, directory, async () => {
    const place = ['-port', String(port), '-data', join(directory, 'data')];
    const child = spawn(binary, [...place, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    await said(child, 'ready');
    return child;
  });
}

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of the tests: what the environment variable `INSIDECAR_TEST_CHROMIUM` names, or that of the system. */
export function chromiumPath(): string | undefined {
  return process.env['INSIDECAR_TEST_CHROMIUM'] ?? CHROMIUM.find((path) => existsSync(path));
}

/** Whether Chromium can be started. */
export function hasChromium(): boolean {
  const path = chromiumPath();
  const isThere = path !== undefined && existsSync(path);
  return isAvailable(
    'Chromium',
    isThere,
    'install it ("apt install chromium"), or name one in INSIDECAR_TEST_CHROMIUM',
  );
}
