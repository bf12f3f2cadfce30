/** `globalConcurrency` and `rate` over processes that are killed, stand still, and stop. */
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CodeHosts, type CodeOfHost, machineNow } from '../support/code-hosts.ts';
import { CODE_STORES } from '../support/code-stores.ts';
import { mostAtOnce, mostIn } from '../support/run-log.ts';

/** A host is considered dead 10 s after its last sign, at most 5 s old. */
const TAKEOVER = { timeout: 90_000, interval: 100 };
const STILL_MS = 20_000;

const namesOf = (kind: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${kind}-${index}`);

describe.each(CODE_STORES)('limits over processes, on $name', ({ isThere, start, urlOf }) => {
  test.runIf(isThere())('hold for jobs while hosts are killed, stop and come', { timeout: 240_000 }, async () => {
    await using server = await start();
    await using hosts = new CodeHosts(urlOf(server.port));
    const rate = { max: 30, per: '1s' } as const;
    const code: CodeOfHost = { jobs: ['job-*'], limits: { globalConcurrency: 4, rate }, lastsMs: 50 };
    const [a, b, c] = [await hosts.join('a', code), await hosts.join('b', code), await hosts.join('c', code)];
    const names = namesOf('job', 600);
    await a.schedule(names, { dueTime: '0s' });
    // Each of the three has its part.
    await expect.poll(() => new Set(hosts.runs('job').map(({ host }) => host)).size, TAKEOVER).toBe(3);
    const diedAt: Record<string, number> = {};
    await a.end('SIGKILL');
    diedAt['a'] = machineNow();
    const d = await hosts.join('d', code);
    await setTimeout(2_000);
    await b.end('SIGTERM');
    await expect.poll(() => c.left(), TAKEOVER).toBe(0);
    expect(await d.left()).toBe(0);
    const runs = hosts.runs('job', diedAt);
    expect([...new Set(runs.map(({ name }) => name))].sort()).toEqual(names.toSorted());
    expect(mostAtOnce(runs)).toBe(4);
    expect(mostIn(runs, 1_000)).toBeLessThanOrEqual(30);
  });

  test.runIf(isThere())('hold for activities while a host stands still', { timeout: 240_000 }, async () => {
    await using server = await start();
    await using hosts = new CodeHosts(urlOf(server.port));
    const code: CodeOfHost = { limits: { globalConcurrency: 3 }, lastsMs: 200 };
    const [a, b] = [await hosts.join('a', code), await hosts.join('b', code), await hosts.join('c', code)];
    const ids = namesOf('flow', 12);
    for (const id of ids) await b.begin(id, namesOf(id, 12));
    await expect.poll(() => new Set(hosts.runs('activity').map(({ host }) => host)).size, TAKEOVER).toBe(3);
    a.signal('SIGSTOP');
    const from = machineNow();
    await setTimeout(STILL_MS);
    a.signal('SIGCONT');
    for (const id of ids) await expect.poll(() => b.statusOf(id), TAKEOVER).toBe('COMPLETED');
    const runs = hosts.runs('activity');
    // What it ran when it stood still it finishes, beside what the limit allows.
    const frozen = runs.filter(({ host, beganAt, endedAt = 0 }) => host === 'a' && beganAt <= from && endedAt > from);
    expect(frozen.length).toBeLessThanOrEqual(3);
    expect(mostAtOnce(runs.filter((run) => !frozen.includes(run)))).toBe(3);
    expect(new Set(runs.map(({ name }) => name)).size).toBe(144);
  });
});
