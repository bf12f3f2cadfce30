import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from './servers.ts';

/** A store that processes of a test share. */
export interface CodeStore {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly start: () => Promise<Pick<OwnServer, 'port'> & AsyncDisposable>;
  readonly urlOf: (port: number) => string | undefined;
}

const postgresqlUrl = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`;
const nothing = { port: 0, [Symbol.asyncDispose]: async (): Promise<void> => undefined };

/** The stores on which processes with different code are tested. */
export const CODE_STORES: readonly CodeStore[] = [
  { name: 'a directory', isThere: () => true, start: async () => nothing, urlOf: () => undefined },
  { name: 'PostgreSQL', isThere: hasPostgresql, start: () => startPostgresql(), urlOf: postgresqlUrl },
  { name: 'Redis', isThere: hasRedis, start: () => startRedis(), urlOf: (port) => `redis://127.0.0.1:${port}` },
];
