import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { postgresqlState } from '../../src/components/postgresql/index.ts';
import { redisState } from '../../src/components/redis/index.ts';
import type { StateDefinition } from '../../src/state/store.ts';
import { runSql } from '../components/postgresql/pg-test-server.ts';
import { restoreSchema } from '../fixtures/state/postgresql-dump.ts';
import { restoreKeys } from '../fixtures/state/redis-dump.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';

const PLACE = fileURLToPath(new URL('../fixtures/state/', import.meta.url));

/** Where the state of a fixture is kept. */
export type Engine = 'embedded' | 'postgresql' | 'redis';

/** What is in a fixture. */
export interface Manifest {
  readonly release: string;
  readonly ending: 'stopped' | 'killed';
  readonly writtenAt: number;
  readonly messages: readonly {
    readonly topic: string;
    readonly group: string;
    readonly id?: string;
    readonly attempts: number;
    /** When the retries of its groups are due. */
    readonly dueAt?: readonly number[];
  }[];
  readonly jobs: readonly { readonly name: string; readonly nextRunAt: number }[];
  readonly workflows: readonly {
    readonly instanceId: string;
    readonly status: string;
    readonly customStatus?: string;
  }[];
  /** Activities with a result: `<instance ID>/<number>`. */
  readonly activities: readonly string[];
}

const HAS_SERVER: Readonly<Record<Engine, boolean>> = {
  embedded: true,
  postgresql: hasPostgresql(),
  redis: hasRedis(),
};

/** The names of all fixtures: `<release>/<engine>/<how its process ended>`. */
export const ALL_FIXTURES: readonly string[] = directoriesIn('').flatMap(directoriesIn).flatMap(directoriesIn);

/** Those whose server is on this machine. */
export const FIXTURES: readonly string[] = ALL_FIXTURES.filter((name) => HAS_SERVER[engineOf(name)]);

function directoriesIn(path: string): readonly string[] {
  const entries = readdirSync(join(PLACE, path), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [join(path, entry.name)] : []));
}

function engineOf(fixture: string): Engine {
  return fixture.split('/')[1] as Engine;
}

/** A copy of a fixture's state. */
export interface OldState extends AsyncDisposable {
  readonly manifest: Manifest;
  /** The store of the present code on it. */
  readonly definition: StateDefinition;
  /** How long a host waits for one that was killed, in milliseconds: it might live on another machine. */
  readonly takeOverMs: number;
}

/** Longer than the lease of a host, and the time until another one looks. */
const TAKE_OVER_MS = 16_000;

function manifestOf(fixture: string): Manifest {
  return JSON.parse(readFileSync(join(PLACE, fixture, 'manifest.json'), 'utf8')) as Manifest;
}

function contentOf(file: string, unpack = (packed: Buffer): Buffer => packed): Buffer | undefined {
  return existsSync(file) ? unpack(readFileSync(file)) : undefined;
}

const FILES = ['state.db', 'state.db-wal'];

/** A state that is a directory. */
export class OldDirectory implements OldState {
  readonly path: string = mkdtempSync(join(tmpdir(), 'insidecar-old-'));
  readonly manifest: Manifest;
  readonly definition: StateDefinition = embeddedState({ path: this.path });
  /** Only one process can have it open. */
  readonly takeOverMs = 0;

  constructor(fixture: string) {
    this.manifest = manifestOf(fixture);
    this.putBack(FILES.map((file) => contentOf(join(PLACE, fixture, `${file}.gz`), gunzipSync)));
  }

  /** The database and its log, if there is one. */
  files(): readonly (Buffer | undefined)[] {
    return FILES.map((file) => contentOf(join(this.path, file)));
  }

  /** Replaces what `files()` answers. */
  putBack(contents: readonly (Buffer | undefined)[]): void {
    for (const [index, file] of FILES.entries()) {
      const content = contents[index];
      if (content !== undefined) writeFileSync(join(this.path, file), content);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A state on a server. */
export interface OldStateOnServer extends OldState {
  readonly server: OwnServer;
  /** The name or the number of its database. */
  readonly database: string;
}

/** Copies of fixtures, those of servers on one server of each kind. */
export class OldStates implements AsyncDisposable {
  readonly #servers = new Map<Engine, OwnServer>();
  #databases = 0;

  /** Starts the servers. What nothing syncs does not wait for the disk, which may take longer than a virtual clock waits. */
  async start(): Promise<void> {
    if (HAS_SERVER.postgresql) this.#servers.set('postgresql', await startPostgresql(['fsync=off']));
    if (HAS_SERVER.redis) this.#servers.set('redis', await startRedis(['--appendonly', 'no']));
  }

  async copyOf(fixture: string): Promise<OldState> {
    return engineOf(fixture) === 'embedded' ? new OldDirectory(fixture) : this.copyOnServer(fixture);
  }

  /** Each in a database of its own: the names of schema and keys are the defaults. */
  async copyOnServer(fixture: string): Promise<OldStateOnServer> {
    const engine = engineOf(fixture);
    const server = this.#servers.get(engine);
    if (server === undefined) throw new Error(`there is no server for ${fixture}`);
    const manifest = manifestOf(fixture);
    const common = { manifest, server, takeOverMs: manifest.ending === 'killed' ? TAKE_OVER_MS : 0 };
    const number = ++this.#databases;
    return engine === 'redis' ? onRedis(fixture, number % 16, common) : onPostgresql(fixture, `old_${number}`, common);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers.values()) await server[Symbol.asyncDispose]();
  }
}

type Common = Pick<OldStateOnServer, 'manifest' | 'server' | 'takeOverMs'>;

async function onPostgresql(fixture: string, database: string, common: Common): Promise<OldStateOnServer> {
  const { port } = common.server;
  await restoreSchema(common.server, database, dumpOf(fixture, 'state.sql'));
  const connection = `postgresql://postgres@127.0.0.1:${port}/${database}`;
  const drop = async (): Promise<void> => void (await runSql(port, `DROP DATABASE "${database}" WITH (FORCE)`));
  const definition = postgresqlState({ url: connection, durability: 'server' });
  return { ...common, database, definition, [Symbol.asyncDispose]: drop };
}

async function onRedis(fixture: string, database: number, common: Common): Promise<OldStateOnServer> {
  await restoreKeys(common.server, database, dumpOf(fixture, 'state.json'));
  const definition = redisState({ url: `redis://127.0.0.1:${common.server.port}`, database });
  // What is left there, the next copy replaces.
  return { ...common, database: String(database), definition, [Symbol.asyncDispose]: async () => undefined };
}

function dumpOf(fixture: string, name: string): string {
  return gunzipSync(readFileSync(join(PLACE, fixture, `${name}.gz`))).toString();
}
