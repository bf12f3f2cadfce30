import { describe, expect, test } from 'vitest';
import { nodeHandler, parseDuration } from '../../../../src/index.ts';
import { listen, send } from '../../../support/http.ts';
import { JobsWorld } from '../../../support/jobs-world.ts';

const WARNING = /^a job is due and nobody handles it: it waits\. Register a function/;

describe('a job that nobody handles', () => {
  test('is warned of once, by name, and counted in metadata', async () => {
    await using world = await new JobsWorld().start();
    const { jobs, metadata } = world.sidecar;
    const names = ['__proto__', 'constructor', 'report'];
    for (const name of names) await jobs.schedule(name, { schedule: '@every 1m' });
    expect(metadata.get().unhandled).toBe(undefined);
    await world.clock.advance('1h');
    const warnings = world.logger.at('warn').map(({ message, details }) => [details['job'], WARNING.test(message)]);
    expect(warnings.sort()).toEqual(names.map((name) => [name, true]));
    await using server = await listen(nodeHandler(world.sidecar));
    const { json } = await send(server.url, 'GET', '/v1.0/metadata');
    const { jobs: counted } = json['unhandled'] as { jobs: { name: string }[] };
    expect(counted.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual(names.map((name) => ({ name, count: 1 })));
  });

  test('waits: its run comes as soon as there is a function, and other functions do not count it again', async () => {
    await using world = await new JobsWorld().start();
    await world.sidecar.jobs.schedule('report', { dueTime: '1m' });
    await world.clock.advance('1h');
    world.handleAll('other');
    await world.clock.settled();
    expect(world.sidecar.metadata.get().unhandled).toEqual({ jobs: [{ name: 'report', count: 1 }] });
    world.handleAll('report');
    await world.clock.settled();
    expect(world.seen.map(({ name, dueAt }) => [name, dueAt])).toEqual([['report', '2026-01-01T00:01:00']]);
    expect(world.logger.at('warn')).toHaveLength(1);
  });

  test('is counted anew for each run that nobody was there for', async () => {
    await using world = await new JobsWorld().start();
    for (const dueTime of ['1m', '2m', '3m']) {
      await world.sidecar.jobs.schedule('report', { dueTime, ifExists: 'replace' });
      await world.clock.advance(parseDuration(dueTime));
    }
    expect(world.sidecar.metadata.get().unhandled).toEqual({ jobs: [{ name: 'report', count: 3 }] });
    expect(world.logger.at('warn')).toHaveLength(1);
  });

  test('is one of 1,000 at most that are told apart', async () => {
    await using world = await new JobsWorld().start();
    for (let n = 0; n < 1_010; n++) await world.sidecar.jobs.schedule(`job-${n}`, { dueTime: '1m' });
    await world.clock.advance('1m');
    const { jobs = [] } = world.sidecar.metadata.get().unhandled ?? {};
    expect([jobs.length, world.logger.at('warn').length]).toEqual([1_000, 1_001]);
  });

  test('is none when an application is configured that is not there yet', async () => {
    await using world = await new JobsWorld({ app: { port: 1 } }).start();
    await world.sidecar.jobs.schedule('report', { dueTime: '1s' });
    await world.clock.advance('2s');
    expect(world.sidecar.metadata.get().unhandled).toBe(undefined);
    expect(world.logger.lines.filter(({ message }) => WARNING.test(message))).toEqual([]);
  });
});
