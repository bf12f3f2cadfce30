import { describe, expect, test } from 'vitest';
import { type ProxiedHost, ProxiedHosts, SERVERS } from '../support/proxied-hosts.ts';

const TICKS = Array.from({ length: 12 }, (_, index) => `tick-${index}`);
const TICK_MS = 250;
const NAMES = Array.from({ length: 30 }, (_, index) => `job-${index}`);
const sorted = NAMES.toSorted();
/** Much more than it takes: a busy machine is slow. */
const SOON = { timeout: 30_000, interval: 20 };
/** A host is considered dead 10 s after its last sign, at most 5 s old. */
const TAKEOVER = { timeout: 90_000, interval: 100 };

/** The moments at which hosts are stopped. */
const MOMENTS: Readonly<Record<string, (host: ProxiedHost) => Promise<void>>> = {
  'at any time': async () => undefined,
  'while a job runs': async (host) => {
    await new Promise((resolve) => {
      host.onRun = resolve;
    });
  },
  'while a run is being recorded': async (host) => {
    await new Promise((resolve) => {
      host.onRun = () => void setImmediate(resolve);
    });
  },
  'while the store is slow': async (host) => {
    host.proxy.delayMs = 40;
  },
};

describe.each(SERVERS)('recurring jobs of hosts on $name', (server) => {
  test.runIf(server.isThere())(
    'go on elsewhere while a host that stops waits for other work, and each tick runs once',
    { timeout: 240_000 },
    async () => {
      await using hosts = await ProxiedHosts.start(server);
      const options = { missedTicks: 'all', stopTimeout: 180_000 } as const;
      let host = await hosts.join('host-0', options);
      let other = await hosts.join('host-1', options);
      for (const name of TICKS) await host.sidecar.jobs.schedule(name, { schedule: `@every ${TICK_MS}ms` });
      for (let stop = 0; stop < 3 * Object.keys(MOMENTS).length; stop++) {
        await expect.poll(() => new Set(hosts.at(host)).size * new Set(hosts.at(other)).size, SOON).not.toBe(0);
        await host.hold();
        const moment = Object.values(MOMENTS)[stop % Object.keys(MOMENTS).length];
        await moment?.(host);
        const stopped = host.stop();
        const from = performance.now();
        const since = (): Set<string> =>
          new Set(hosts.runs.filter((run) => run.host === other.name && run.begunAt > from).map(({ name }) => name));
        await expect.poll(() => since().size, SOON).toBe(TICKS.length);
        host.letGo();
        await stopped;
        host = other;
        other = await hosts.join(`host-${stop + 2}`, options);
      }
      for (const name of TICKS) await host.sidecar.jobs.delete(name);
      for (const tick of TICKS) {
        const instants = hosts.runs.filter(({ name }) => name === tick).map(({ dueAt }) => dueAt);
        const [first = 0] = instants;
        expect(instants).toEqual(instants.map((_, index) => first + index * TICK_MS));
      }
    },
  );
});

describe.each(SERVERS)('jobs that a host on $name runs for one that lacks their function', (server) => {
  /** Jobs under way at the host that has their function, half of them those of the other. */
  async function underWay(hosts: ProxiedHosts): Promise<{ web: ProxiedHost; worker: ProxiedHost; end: () => void }> {
    const web = await hosts.join('web', { runsJobs: false, stopTimeout: 1_000 });
    const worker = await hosts.join('worker', { stopTimeout: 1_000 });
    const ends: (() => void)[] = [];
    worker.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
    for (const name of NAMES) await web.sidecar.jobs.schedule(name, { dueTime: '0s' });
    await expect.poll(() => ends.length, SOON).toBe(NAMES.length);
    return { web, worker, end: () => ends.forEach((resolve) => void resolve()) };
  }

  const isDone = async (host: ProxiedHost): Promise<void> =>
    expect.poll(async () => (await host.sidecar.jobs.listPage()).jobs.length, TAKEOVER).toBe(0);

  describe.each(['silent', 'refused'] as const)('while the way to the server is %s', (how) => {
    test.runIf(server.isThere())(
      'run again elsewhere when the host that ran them is stopped before it could record them',
      { timeout: 180_000 },
      async () => {
        await using hosts = await ProxiedHosts.start(server);
        const { worker, end } = await underWay(hosts);
        worker.cutOff(how);
        end();
        await worker.stop();
        expect(worker.recorded).toEqual([]);
        hosts.restore(worker);
        const spare = await hosts.join('spare');
        await isDone(spare);
        expect([hosts.at(worker), hosts.at(spare)]).toEqual([sorted, sorted]);
      },
    );

    test.runIf(server.isThere())(
      'run once, and are recorded, when it is their owner that is cut off and stops',
      { timeout: 180_000 },
      async () => {
        await using hosts = await ProxiedHosts.start(server);
        const { web, worker, end } = await underWay(hosts);
        web.cutOff(how);
        worker.onRun = () => undefined;
        end();
        await expect.poll(() => worker.recorded.length, SOON).toBe(NAMES.length);
        await web.stop();
        hosts.restore(web);
        await isDone(worker);
        const spare = await hosts.join('spare');
        for (const name of NAMES) await spare.sidecar.jobs.schedule(`after-${name}`, { dueTime: '0s' });
        await isDone(spare);
        const before = hosts.runs.filter(({ name }) => !name.startsWith('after'));
        expect([before.length, hosts.runs.length]).toEqual([NAMES.length, 2 * NAMES.length]);
      },
    );
  });

  test.runIf(server.isThere())(
    'do not run again when they were recorded and only the answer was lost, and the host then stops',
    { timeout: 180_000 },
    async () => {
      await using hosts = await ProxiedHosts.start(server);
      const { web, worker, end } = await underWay(hosts);
      worker.proxy.answersLeft = 0;
      end();
      await isDone(web);
      await worker.stop();
      hosts.restore(worker);
      const spare = await hosts.join('spare');
      for (const name of NAMES) await spare.sidecar.jobs.schedule(`after-${name}`, { dueTime: '0s' });
      await isDone(spare);
      expect([hosts.at(worker), hosts.at(spare)]).toEqual([sorted, NAMES.map((name) => `after-${name}`).sort()]);
    },
  );
});
