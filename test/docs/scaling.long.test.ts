/** Runs the program of docs/scaling.md as two processes of one application, on each server. */
import { describe, expect, test } from 'vitest';
import { freePort } from '../support/http.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';
import { codeOf, start } from './code-of-docs.ts';

const PATIENCE = { timeout: 20_000 };
const PROGRAM = codeOf('docs/scaling.md').find((code) => code.includes('postgresqlState')) ?? '';
const ON_REDIS = PROGRAM.replace('{ postgresqlState }', '{ redisState }')
  .replace('insidecar/postgresql', 'insidecar/redis')
  .replace('postgresqlState(DATABASE_URL)', `redisState({ url: DATABASE_URL, durability: 'synced' })`);

interface Engine {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly startServer: () => Promise<OwnServer>;
  readonly urlAt: (port: number) => string;
  readonly program: string;
}

const ENGINES: readonly Engine[] = [
  {
    name: 'postgresql',
    isThere: hasPostgresql,
    startServer: startPostgresql,
    urlAt: (port) => `postgresql://postgres@127.0.0.1:${port}/postgres`,
    program: PROGRAM,
  },
  {
    name: 'redis',
    isThere: hasRedis,
    startServer: startRedis,
    urlAt: (port) => `redis://127.0.0.1:${port}`,
    program: ON_REDIS,
  },
];

/** The process that has run the job last, by its output. */
function lastReporter(output: string): number {
  return Number([...output.matchAll(/report by process (\d+)/g)].at(-1)?.[1]);
}

describe.each(ENGINES)('$name', ({ name, isThere, startServer, urlAt, program }) => {
  test.runIf(isThere())('two processes share the work, and one goes on when the other stops', async () => {
    await using server = await startServer();
    const begin = async (which: string): Promise<() => string> =>
      start(`scaling-${name}-${which}`, program, {
        DATABASE_URL: urlAt(server.port),
        PEERS_PORT: String(await freePort()),
        SIDECAR_IDENTITY_SECRET: 'a secret of the tests, of at least 32 bytes',
      });
    const first = await begin('first');
    await expect.poll(first, PATIENCE).toContain('order 4');
    await expect.poll(first, PATIENCE).toContain('report');
    const one = lastReporter(first());
    const second = await begin('second');
    await expect.poll(second, PATIENCE).toContain('order 4');

    process.kill(one, 'SIGTERM');
    await expect.poll(first, PATIENCE).toContain('exit code');
    expect(first()).toContain('exit code 0');
    const before = second().length;
    await expect.poll(() => second().slice(before), PATIENCE).toContain('report');
    expect(lastReporter(second())).not.toBe(one);
    expect(second()).not.toContain('rror');
  });
});
