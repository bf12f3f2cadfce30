import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';
import { runWithCrashes } from './harness.ts';

const KILLS = 3;

/** What was published of a key, without what came again. */
function firstsOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const firsts = new Map<string, number[]>();
  for (const line of lines) {
    const [key = '', n] = line.split(' ');
    const own = firsts.get(key) ?? [];
    firsts.set(key, own);
    if (!own.includes(Number(n))) own.push(Number(n));
  }
  return firsts;
}

const NO_SERVER = {
  isThere: () => true,
  start: async () => ({ port: 0, [Symbol.asyncDispose]: async () => undefined }),
};
const REDIS = { isThere: hasRedis, start: () => startRedis() };
const POSTGRESQL = { isThere: hasPostgresql, start: () => startPostgresql() };

describe.each([
  { kind: 'sqlite', ...NO_SERVER },
  { kind: 'redis', ...REDIS },
  { kind: 'postgresql-v1', ...POSTGRESQL },
  { kind: 'postgresql-v2', ...POSTGRESQL },
])('two processes with one outbox: $kind', ({ kind, isThere, start }) => {
  test(`events of each key are published in order, none is lost, over ${2 * KILLS} kills`, async ({ skip }) => {
    if (!isThere()) return skip();
    await using server = await start();
    const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
    const program = new URL('./outbox-relays-child.mjs', import.meta.url);
    const both = await Promise.all(
      ['one', 'other'].map((name) =>
        runWithCrashes({
          program,
          args: [path, kind, String(server.port), name],
          kills: KILLS,
          killAfterMs: [500, 2_500],
        }),
      ),
    );
    const lines = (await readFile(join(path, 'published'), 'utf8')).split('\n').slice(0, -1);
    const firsts = firstsOf(lines);
    const distinct = [...firsts.values()].reduce((sum, { length }) => sum + length, 0);
    const acknowledged = new Map<string, number>();
    for (const line of both.flat().flatMap((life) => life.lines)) {
      const [what, key = '', n] = line.split(' ');
      if (what === 'C') acknowledged.set(key, Math.max(acknowledged.get(key) ?? 0, Number(n)));
    }
    console.log(`${kind}: ${distinct} events, ${lines.length - distinct} repeated`);
    expect(acknowledged.size).toBe(4);
    for (const [key, n] of acknowledged) {
      const published = firsts.get(key) ?? [];
      expect(published.length).toBeGreaterThanOrEqual(n);
      expect(published).toEqual(Array.from({ length: published.length }, (_value, index) => index + 1));
    }
    // A life has taken over from one that was killed.
    expect(new Set(lines.map((line) => line.split(' ')[2])).size).toBeGreaterThan(1);
    await rm(path, { recursive: true });
  }, 240_000);
});
