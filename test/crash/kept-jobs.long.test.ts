import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Job } from '../../src/index.ts';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { type Life, runWithCrashes } from './harness.ts';

/** Answers of a server are that late, so that there are kills between a commit and its answer. */
const LATE_MS = 15;
/** How the names of jobs end that succeed. */
const SUCCEEDS = /7$/;

/** The data that the child gives to a job; of every fifth they are an entry of their own. */
function dataOf(name: string): object {
  return { of: name, more: 'x'.repeat(Number(name.split('-')[2]) % 5 === 0 ? 6_000 : 0) };
}

/** What the lives said, and what they broke. */
class Judged {
  readonly scheduled = new Set<string>();
  /** What there was in the end. */
  readonly there: Job[] = [];
  readonly broken: string[] = [];
  runs = 0;
  /** Jobs that a life found as failed. */
  readonly #kept = new Set<string>();
  /** Jobs with an event that says that they have ended. */
  readonly #ended = new Set<string>();

  constructor(lives: readonly Life[]) {
    for (const { lines } of lives) this.#live(lines);
  }

  /** How many failures were committed, and a kill came before their event. */
  get between(): number {
    return [...this.#kept].filter((name) => !this.#ended.has(name)).length;
  }

  #live(lines: readonly string[]): void {
    const found: string[] = [];
    for (const line of lines) {
      const [what, name = ''] = line.split(' ');
      if (what === 'P') this.scheduled.add(name);
      if (what === 'K') found.push(name);
      if (what === 'R') this.runs++;
      if ((what === 'R' || what === 'E') && (this.#kept.has(name) || this.#ended.has(name)))
        this.broken.push(`${line}: it had ended`);
      if (what === 'E') this.#ended.add(name);
      if (what === 'J') this.there.push(JSON.parse(line.slice(2)) as Job);
    }
    // Not before the end of this life: what it finds may have failed in it, just now.
    for (const name of found) this.#kept.add(name);
    for (const { name } of this.there) this.#kept.add(name);
  }
}

/** Kills come so long after the first failure. On a server, each life waits for the lease of the dead one before that. */
const WAYS = [
  { kind: 'directory', kills: 10, batch: 400, killAfterMs: [0, 60], isThere: () => true, start: undefined },
  { kind: 'postgresql', kills: 2, batch: 1_500, killAfterMs: [0, 400], isThere: hasPostgresql, start: startPostgresql },
  { kind: 'redis', kills: 2, batch: 1_500, killAfterMs: [0, 400], isThere: hasRedis, start: startRedis },
] as const;

test.concurrent.for(WAYS)(
  'jobs that run once and fail for good are kept once, with data and reason, over $kills kills: $kind',
  { timeout: 180_000 },
  async ({ kind, kills, batch, killAfterMs, isThere, start }, { skip }) => {
    if (!isThere()) return skip();
    await using server = await start?.();
    await using proxy = server && (await TcpProxy.start(server.port));
    if (proxy !== undefined) proxy.delayMs = LATE_MS;
    const path = await mkdtemp(join(tmpdir(), 'insidecar-kept-'));
    const lives = await runWithCrashes({
      program: new URL('./kept-jobs-child.mjs', import.meta.url),
      args: [path, kind, String(batch), String(proxy?.port)],
      kills,
      killAfterMs,
      isEnough: (lives) => new Judged(lives).between > kills,
    });
    const { scheduled, there, runs, broken, between } = new Judged(lives);
    console.log(
      `${kind}, ${lives.length - 1} kills: ${scheduled.size} jobs, ${runs} runs, ${there.length} kept, ${between} hit between commit and event`,
    );
    expect(broken).toEqual([]);
    const names = there.map(({ name }) => name);
    const mustBeThere = [...scheduled].filter((name) => !SUCCEEDS.test(name));
    expect(mustBeThere.length).toBeGreaterThan(2_000);
    expect(between).toBeGreaterThan(kills);
    // A schedule that the kill cut off may have been stored.
    expect(mustBeThere.filter((name) => !names.includes(name))).toEqual([]);
    expect(names.filter((name) => SUCCEEDS.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    for (const job of there) {
      expect(job).toMatchObject({ runs: 1, keptUntilAt: expect.any(Number), data: dataOf(job.name) });
      expect(job.lastRun).toMatchObject({ outcome: 'failed', attempt: 1, reason: `no way for ${job.name}` });
    }
    await rm(path, { recursive: true });
  },
);
