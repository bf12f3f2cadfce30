import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { type Life, runWithCrashes } from './harness.ts';

const KILLS = process.env['CI'] === 'true' ? 30 : 6;
/** Answers are that late, so that most kills come between a commit and its answer. */
const LATE_MS = 15;

const REDIS = { isThere: hasRedis, start: () => startRedis() };
const POSTGRESQL = { isThere: hasPostgresql, start: () => startPostgresql() };

/** What the lives said of repeated transactions, and what they broke. */
function judge(lives: readonly Life[]): { refused: number; done: number; acknowledged: number; broken: string[] } {
  const broken: string[] = [];
  const acknowledged = new Map<string, number>();
  const counts = { refused: 0, done: 0, acknowledged: 0 };
  for (const line of lives.flatMap(({ lines }) => lines)) {
    const [what, writer = '', n = '', other = '', how] = line.split(' ');
    if (what === 'C') {
      acknowledged.set(writer, Number(n));
      counts.acknowledged++;
    }
    // Both keys belong together, and what was acknowledged is there.
    if (what === 'S' && (n !== other || Number(n) < (acknowledged.get(writer) ?? 0))) broken.push(line);
    if (what !== 'R') continue;
    // It was made before the kill, or it was not.
    const wasMade = n === other;
    if (how !== (wasMade ? 'refused' : 'done') || (!wasMade && Number(n) !== Number(other) + 1)) broken.push(line);
    if (how === 'done') acknowledged.set(writer, Number(n));
    counts[wasMade ? 'refused' : 'done']++;
  }
  return { ...counts, broken };
}

describe.each([
  { kind: 'redis', ...REDIS },
  { kind: 'postgresql-v1', ...POSTGRESQL },
  { kind: 'postgresql-v2', ...POSTGRESQL },
])('values on a server: $kind', ({ kind, isThere, start }) => {
  test(`a transaction repeated after a kill is refused if it was made, and never half made: ${KILLS} kills`, async ({
    skip,
  }) => {
    if (!isThere()) return skip();
    await using server = await start();
    await using proxy = await TcpProxy.start(server.port);
    proxy.delayMs = LATE_MS;
    const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
    const lives = await runWithCrashes({
      program: new URL('./state-servers-child.mjs', import.meta.url),
      args: [path, kind, String(proxy.port)],
      kills: KILLS,
      killAfterMs: [20, 250],
      isEnough: (lives) => {
        const { acknowledged, refused } = judge(lives);
        return Math.min(acknowledged, refused) > KILLS;
      },
    });
    const { broken, ...counts } = judge(lives);
    console.log(`${kind}, ${KILLS} kills: ${JSON.stringify(counts)}`);
    expect(broken).toEqual([]);
    expect(counts.acknowledged).toBeGreaterThan(KILLS);
    expect(counts.refused).toBeGreaterThan(KILLS);
    await rm(path, { recursive: true });
  }, 180_000);
});
