import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type CodeHost, CodeHosts } from '../support/code-hosts.ts';
import { CODE_STORES } from '../support/code-stores.ts';

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`).sort();
/** Much more than it takes: a busy machine is slow. */
const SOON = { timeout: 30_000, interval: 50 };
/** A host is considered dead 10 s after its last sign, at most 5 s old. */
const TAKEOVER = { timeout: 60_000, interval: 100 };
const WEB = { workflows: ['album'] };
const WORKER = { activities: ['resize'] };

const end = async (host: CodeHost, ids: readonly string[], limit = SOON): Promise<void> =>
  expect.poll(() => host.outputs(ids), limit).toEqual(ids.map((id) => `resize of ${id}`));

describe.each(CODE_STORES)(
  'processes with workflows and others with activities, on $name',
  ({ isThere, start, urlOf }) => {
    test.runIf(isThere())(
      'run each activity once, also when the process of the workflow goes',
      { timeout: 180_000 },
      async () => {
        await using server = await start();
        await using hosts = new CodeHosts(urlOf(server.port));
        const web = await hosts.join('web', WEB);
        await hosts.join('worker', WORKER);
        const begun = (prefix: string): readonly string[] =>
          hosts.of('worker', 'B').filter((id) => id.startsWith(prefix));
        const quick = idsOf('quick', 100);
        await web.startAll('album', quick, { activity: 'resize' });
        await end(web, quick);
        const until = hosts.file('killed');
        const killed = idsOf('killed', 60);
        await web.startAll('album', killed, { activity: 'resize', until });
        await expect.poll(() => begun('killed').length, SOON).toBe(60);
        const second = await hosts.join('second', WEB);
        await web.end('SIGKILL');
        writeFileSync(until, '');
        await end(second, killed, TAKEOVER);
        const stopped = idsOf('stopped', 60);
        const untilStopped = hosts.file('stopped');
        await second.startAll('album', stopped, { activity: 'resize', until: untilStopped });
        await expect.poll(() => begun('stopped').length, SOON).toBe(60);
        const third = await hosts.join('third', WEB);
        await second.end('SIGTERM');
        writeFileSync(untilStopped, '');
        await end(third, stopped);
        expect(hosts.of('worker', 'B')).toEqual([...quick, ...killed, ...stopped].sort());
        expect(hosts.of('worker', 'E')).toEqual([...quick, ...killed, ...stopped].sort());
      },
    );

    test.runIf(isThere())(
      'repeat those of a process that is killed or stopped at another one',
      { timeout: 180_000 },
      async () => {
        await using server = await start();
        await using hosts = new CodeHosts(urlOf(server.port));
        const web = await hosts.join('web', WEB);
        const first = await hosts.join('first', WORKER);
        const killed = idsOf('killed', 60);
        await web.startAll('album', killed, { activity: 'resize', hangsAt: 'first' });
        await expect.poll(() => hosts.of('first', 'B'), SOON).toEqual(killed);
        const second = await hosts.join('second', WORKER);
        await first.end('SIGKILL');
        await end(web, killed, TAKEOVER);
        const stopped = idsOf('stopped', 60);
        await web.startAll('album', stopped, { activity: 'resize', hangsAt: 'second' });
        await expect.poll(() => hosts.of('second', 'B').length, SOON).toBe(120);
        await hosts.join('third', WORKER);
        await second.end('SIGTERM');
        await end(web, stopped);
        expect([hosts.of('second', 'E'), hosts.of('third', 'B'), hosts.of('web', 'B')]).toEqual([killed, stopped, []]);
      },
    );
  },
);
