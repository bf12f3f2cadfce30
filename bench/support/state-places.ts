/** The stores of bench/state-api.ts, each with a server of its own where it needs one. */
import { join } from 'node:path';
import { type OwnServer, startPostgresql, startRedis } from '../../test/support/servers.ts';
import type { ComponentFile } from './component-file.ts';
import { cpuMicrosOfServer } from './process-cpu.ts';
import type { Kind } from './sidecar-command.ts';
import { STORE } from './state-work.ts';

export const STORES = ['memory', 'sqlite', 'redis', 'postgresql'] as const;
export type Store = (typeof STORES)[number];

/** Where values are kept. */
export interface Place extends AsyncDisposable {
  /** The component of a command: the same type for both, and the same server. */
  readonly component: (kind: Kind) => ComponentFile;
  /** For code: where the server is, or the file. */
  readonly url: string;
  /** CPU time of the server, 0 without one. */
  readonly serverMicros: () => number;
}

/** Redis keeps nothing on disk; PostgreSQL syncs each commit, as it does by default. */
export async function openPlace(store: Store, directory: string): Promise<Place> {
  switch (store) {
    case 'memory':
      return withoutServer('', () => ({ name: STORE, type: 'state.in-memory' }));
    case 'sqlite': {
      const component = (kind: Kind): ComponentFile => {
        const connectionString = join(directory, `${kind}.db`);
        return { name: STORE, type: 'state.sqlite', metadata: { connectionString } };
      };
      return withoutServer(join(directory, 'code.db'), component);
    }
    case 'redis': {
      const server = await startRedis(['--appendonly', 'no']);
      const metadata = { redisHost: `127.0.0.1:${server.port}`, redisPassword: '' };
      const component = { name: STORE, type: 'state.redis', metadata };
      return onServer(server, `redis://127.0.0.1:${server.port}`, component);
    }
    case 'postgresql': {
      const server = await startPostgresql();
      const connectionString = `postgresql://postgres@127.0.0.1:${server.port}/postgres`;
      const component = { name: STORE, type: 'state.postgresql', version: 'v2', metadata: { connectionString } };
      return onServer(server, connectionString, component);
    }
  }
}

function withoutServer(url: string, component: Place['component']): Place {
  return { url, component, serverMicros: () => 0, [Symbol.asyncDispose]: async () => undefined };
}

function onServer(server: OwnServer, url: string, component: ComponentFile): Place {
  return {
    url,
    component: () => component,
    serverMicros: () => cpuMicrosOfServer(server.pid),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
