import { describe, expect, test } from 'vitest';
import { type CodeHost, CodeHosts } from '../support/code-hosts.ts';
import { CODE_STORES } from '../support/code-stores.ts';

const NAMES = Array.from({ length: 200 }, (_, index) => `job-${index}`);
const sorted = NAMES.toSorted();
/** Much more than it takes: a busy machine is slow. */
const SOON = { timeout: 15_000, interval: 50 };
/** A host is considered dead 10 s after its last sign, at most 5 s old. */
const TAKEOVER = { timeout: 60_000, interval: 100 };

const isNone = async (host: CodeHost, limit = SOON): Promise<void> => expect.poll(() => host.left(), limit).toBe(0);

describe.each(CODE_STORES)('processes with different code, on $name', ({ isThere, start, urlOf }) => {
  test.runIf(isThere())('run each job where its function is, also after a kill', { timeout: 180_000 }, async () => {
    await using server = await start();
    await using hosts = new CodeHosts(urlOf(server.port));
    const web = await hosts.join('web', { jobs: [] });
    const worker = await hosts.join('worker', { jobs: ['job-*', 'tick'] });
    await web.schedule(NAMES, { dueTime: '0s' });
    await web.schedule(['tick'], { schedule: '@every 1s', repeats: 4 });
    await isNone(web);
    expect(hosts.of('worker', 'E')).toEqual([...NAMES, 'tick', 'tick', 'tick', 'tick'].sort());
    // The next release has more code.
    const newer = await hosts.join('newer', { jobs: ['job-*', 'tick', 'new-*'] });
    const added = NAMES.map((name) => `new-${name}`);
    await worker.schedule(added, { dueTime: '0s' });
    await isNone(web);
    expect(hosts.of('newer', 'E')).toEqual(added.toSorted());
    await worker.end('SIGTERM');
    // What runs in a process that is killed runs again in one that has the function.
    await web.schedule(NAMES, { dueTime: '0s', data: { hangsAt: 'newer' } });
    await expect
      .poll(() => hosts.of('newer', 'B').filter((name) => name.startsWith('job')).length, SOON)
      .toBeGreaterThan(40);
    const last = await hosts.join('last', { jobs: ['job-*'] });
    await newer.end('SIGKILL');
    await isNone(last, TAKEOVER);
    expect([hosts.of('last', 'E'), hosts.of('web', 'B')]).toEqual([sorted, []]);
    expect(hosts.of('newer', 'E').filter((name) => name.startsWith('job'))).toEqual([]);
  });
});
