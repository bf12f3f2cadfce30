import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere } from '../cli/cli.ts';
import { LARGE } from '../fixtures/state/application.mjs';
import { ALL_FIXTURES, FIXTURES, OldDirectory, OldStates } from './old-fixtures.ts';
import { OldWorld } from './old-world.ts';

const MINUTE_MS = 60_000;
const LONG = { timeout: 120_000 };

const states = new OldStates();
beforeAll(() => states.start(), 120_000);
afterAll(() => states[Symbol.asyncDispose]());

test('every release has left behind a state on each engine that it had', () => {
  const releases = [...new Set(ALL_FIXTURES.map((name) => name.split('/')[0] ?? ''))];
  expect(releases.length).toBeGreaterThan(1);
  const expected = releases.flatMap((release) =>
    (release === '58379df' ? ['embedded'] : ['embedded', 'postgresql', 'redis']).flatMap((engine) =>
      ['killed', 'stopped'].map((ending) => `${release}/${engine}/${ending}`),
    ),
  );
  expect(ALL_FIXTURES.toSorted()).toEqual(expected.toSorted());
});

describe.each(FIXTURES)('the state of %s', (fixture) => {
  test('has every message that waits, each once for its group, its attempts counted on', LONG, async () => {
    await using state = await states.copyOf(fixture);
    const { messages, writtenAt, release } = state.manifest;
    await using world = await new OldWorld(state, { downMs: 5 * MINUTE_MS }).start();
    await world.billing.start();
    const billing: string[] = [];
    await world.billing.pubsub.subscribe('pubsub', 'orders', (_event, { message }) => void billing.push(message.id));
    await world.subscribe();
    if (release !== '58379df')
      await world.shop.pubsub.queues.resume({ pubsubName: 'pubsub', topic: 'backlog', group: 'shop' });
    await world.pass('20m');

    const delivered = world.all('message');
    // What was 1 min valid has expired meanwhile. A raw message has a random ID.
    const expected = messages
      .filter(({ id, group }) => id !== 'expires-soon' && group !== 'billing')
      .map(({ topic, group, id, attempts }) => ({ topic, group, name: id ?? 'raw', attempt: attempts + 1 }));
    const told = delivered.map(({ topic = '', group = '', name, attempt }) => ({
      ...{ topic, group, name: topic === 'raw' ? 'raw' : name, attempt },
    }));
    const inOrder = (list: typeof told) => list.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    expect(inOrder(told)).toEqual(inOrder(expected));
    expect(billing.toSorted()).toEqual(messages.flatMap((one) => (one.group === 'billing' ? [one.id] : [])).toSorted());

    const find = (name: string, group = 'shop') => delivered.find((one) => one.name === name && one.group === group);
    for (const { topic, group, id = '', dueAt } of messages)
      if (topic === 'orders' && dueAt !== undefined) {
        const instants = dueAt.map((at) => Math.ceil(Math.max(at, writtenAt + 5 * MINUTE_MS)));
        expect(instants).toContain(find(id, group)?.at);
      }
    expect(find('order-large')?.data).toEqual({ fate: 'hang', large: LARGE });
    expect(find('order-traced')?.message).toMatchObject({
      metadata: { key: 'value' },
      trace: { traceparent: expect.stringContaining('0af7651916cd43dd8448eb211c80319c'), tracestate: 'a=b' },
    });
    expect(delivered.find(({ topic }) => topic === 'raw')).toMatchObject({ data: 'raw bytes' });
    expect(find('dead-1')?.deadLetter).toMatchObject({
      topic: 'fragile',
      group: 'shop',
      reason: 'not yet',
      attempts: 1,
    });
    const idsOf = (topic: string) => delivered.filter((one) => one.topic === topic).map(({ name }) => name);
    expect(idsOf('ledger')).toEqual(messages.flatMap(({ topic, id }) => (topic === 'ledger' ? [id] : [])));
    expect(world.logger.at('error')).toEqual([]);
  });

  test('has every job: it runs when it is due, with its data, and its counters go on', LONG, async () => {
    await using state = await states.copyOf(fixture);
    const { jobs, writtenAt, release } = state.manifest;
    await using world = await new OldWorld(state, { hasMessages: false }).start();
    if (release !== '58379df') expect(await world.shop.jobs.resume('cron')).toBe(true);
    await world.pass('3h');
    for (const nothingIsDueFor of ['1h50m', '45m', '15h45m', '2h15m'] as const) {
      await world.startAgainAfter(nothingIsDueFor);
      await world.pass('15m');
    }
    const runs = (name: string) =>
      world.all('job').flatMap((run) => (run.name === name ? [{ at: run.at, attempt: run.attempt }] : []));
    const at = (instant: string) => ({ at: Date.parse(instant), attempt: 1 });
    expect(jobs.map(({ name }) => runs(name).length)).toEqual(expect.not.arrayContaining([0]));
    const whileTakenOver = runs('running').map((run) => ({
      ...run,
      isSoon: run.at >= writtenAt && run.at <= writtenAt + state.takeOverMs,
    }));
    expect(whileTakenOver).toMatchObject([{ isSoon: true, attempt: 1 }]);
    expect(runs('cron')).toEqual([at('2026-01-01T02:30:00Z'), at('2026-01-02T02:30:00Z')]);
    expect(runs('zoned')).toEqual([at('2026-01-01T08:00:00Z')]);
    // Two of five were run before.
    expect(runs('every')).toEqual([3, 4, 5].map((hour) => at(`2026-01-01T0${hour}:00:00Z`)));
    // It has expired before its third run.
    expect(runs('expires')).toEqual([at('2026-01-01T03:00:00Z')]);
    expect(runs('retrying')).toEqual([{ ...at('2026-01-01T07:00:00Z'), attempt: 2 }]);
    expect(runs('once')).toEqual([at('2026-01-02T00:00:00Z')]);
    const dataOf = (name: string) => world.all('job').find((run) => run.name === name)?.data;
    expect(['cron', 'every', 'once', 'large'].map(dataOf)).toEqual([{ of: 'cron' }, [1, 2], 'once', LARGE]);
    const { jobs: left } = await world.shop.jobs.listPage();
    expect(left.map(({ name }) => name).toSorted()).toEqual(['cron', 'large', 'zoned']);
    expect(world.logger.at('error')).toEqual([]);
  });

  test('has every workflow: each goes on to its end, and repeats no activity that has its result', LONG, async () => {
    await using state = await states.copyOf(fixture);
    const { workflows: before, activities } = state.manifest;
    await using world = await new OldWorld(state).start();
    const { workflows } = world.shop;
    const get = (id: string) => workflows.get(id);
    for (const { instanceId, status } of before)
      if (!['activity-running', 'fan-out', 'long'].includes(instanceId))
        expect(await get(instanceId)).toMatchObject({ status });
    await workflows.raiseEvent('event-waiting', 'go', 'now');
    await workflows.raiseEvent('large', 'go', 'xyz');
    await workflows.resume('suspended');
    for (const add of [100, 1000]) {
      await workflows.raiseEvent('continued', 'next', add);
      await world.clock.settled();
    }
    await world.pass('80m');

    const seeded = before.find(({ instanceId }) => instanceId === 'seeded')?.customStatus;
    const outputs = {
      'activity-running': 4,
      long: 61,
      'fan-out': 5,
      'timer-pending': 'timed',
      'event-waiting': ['now', 'too early'],
      'child-running': 'parent of timed',
      child: 'timed',
      suspended: 'timed',
      'retry-pending': 'retried',
      continued: [1111, 'too early'],
      large: LARGE.length + 3,
      seeded,
      patched: 'new code',
      unpatched: 'old code',
      scheduled: 'timed',
      completed: 1,
      ...(before.some(({ instanceId }) => instanceId === 'completed-again') ? { 'completed-again': 1 } : {}),
    };
    for (const [id, output] of Object.entries(outputs))
      expect(await get(id), id).toMatchObject({ status: 'COMPLETED', output });
    expect(await get('terminated')).toMatchObject({ status: 'TERMINATED', output: 'enough' });
    expect(await get('failed')).toMatchObject({
      status: 'FAILED',
      failure: { message: expect.stringMatching('not yet') },
    });
    expect(before.map(({ instanceId }) => instanceId).toSorted()).toEqual(
      [...Object.keys(outputs), 'failed', 'terminated'].toSorted(),
    );

    const begun = world.all('activity').map(({ name, attempt }) => `${name}#${attempt}`);
    expect(new Set(begun).size).toBe(begun.length);
    // A run that continues as new counts anew.
    const again = begun.filter((one) => activities.includes(one.replace(/#.*/, '')) && !one.startsWith('continued/'));
    expect(again).toEqual([]);
    expect(begun.filter((one) => one.startsWith('retry-pending/'))).toEqual([expect.stringMatching(/#2$/)]);
    expect(world.logger.at('error')).toEqual([]);
  });

  test('can be operated: queues, dead letters, jobs and workflows', LONG, async () => {
    await using state = await states.copyOf(fixture);
    const { messages } = state.manifest;
    await using world = await new OldWorld(state).start();
    const { pubsub, jobs, workflows } = world.shop;
    const queue = (topic: string, group = 'shop') => ({ pubsubName: 'pubsub', topic, group });
    for (const one of await pubsub.queues.list()) {
      const waiting = messages.filter(({ topic, group }) => topic === one.topic && group === one.group);
      expect(one.ready + one.delayed, `${one.topic} of ${one.group}`).toBe(waiting.length);
    }
    await world.subscribe(({ topic }) => topic === 'fragile');
    // One of three has no origin: it stays unless it is said where it goes.
    expect(await pubsub.queues.redeliver(queue('failed'), 'all')).toBe(2);
    const [left] = (await pubsub.queues.messagesPage(queue('failed'))).messages;
    expect(left?.message).toMatchObject({ id: 'without-origin' });
    await expect(pubsub.queues.redeliver(queue('failed'), [left?.key ?? ''])).resolves.toBe(0);
    expect(await pubsub.queues.redeliver(queue('failed'), 'all', { to: { topic: 'fragile', group: 'shop' } })).toBe(1);
    await world.clock.settled();
    const delivered = world.all('message').map(({ topic, name, attempt }) => ({ topic, name, attempt }));
    const names = ['dead-1', 'dead-2', 'without-origin'];
    expect(delivered).toEqual(names.map((name) => ({ topic: 'fragile', name, attempt: 1 })));

    await pubsub.queues.pause(queue('backlog'));
    await world.subscribe(({ topic }) => topic === 'backlog');
    expect(world.all('message')).toHaveLength(3);
    expect(await pubsub.queues.discard(queue('backlog'), 'all')).toBe(32);
    expect(await pubsub.queues.purge(queue('orders', 'shop/audit'))).toBe(4);

    expect((await jobs.listPage()).jobs).toHaveLength(7);
    expect(await jobs.pause('every')).toBe(true);
    expect(await jobs.run('once')).toBe(true);
    await world.pass('3h');
    const ran = world.all('job').map(({ name }) => name);
    expect(ran).toContain('once');
    expect(ran).not.toContain('every');

    const list = async (filter: Parameters<typeof workflows.list>[0]) =>
      (await workflows.listPage(filter)).instances.map(({ instanceId }) => instanceId);
    expect(await list({ status: 'FAILED' })).toEqual(['failed']);
    expect(await list({ parentId: 'child-running' })).toEqual(['child']);
    expect(await list({ name: 'patched' })).toEqual(['patched', 'unpatched']);
    await workflows.rerun('failed', { from: 'failure', instanceId: 'mended' });
    await workflows.rerun('completed', { instanceId: 'again' });
    await world.clock.settled();
    expect(await workflows.get('mended')).toMatchObject({ status: 'COMPLETED', output: 2, rerunOf: 'failed' });
    expect(await workflows.get('again')).toMatchObject({ status: 'COMPLETED', output: 1 });
    expect(await workflows.terminateAll({ prefix: 'event' })).toMatchObject({ done: 1 });
    await workflows.purge('completed');
    expect(await workflows.get('completed')).toBeUndefined();
    expect(world.logger.at('error')).toEqual([]);
  });

  // The command reads directories only.
  const isDirectory = fixture.includes('/embedded/');
  test.runIf(isDirectory)('can be read and changed by the command while it is stopped', LONG, async () => {
    await using state = new OldDirectory(fixture);
    const run = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await runHere([...args, '--app-id', 'shop', '--state-path', state.path]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: `shop is stopped, state in ${state.path}\n` });
      return stdout;
    };
    expect(await run('queues')).toMatch(/^failed\/shop +3 /m);
    expect(await run('queues', 'messages', 'backlog')).toContain('backlog-0');
    expect(await run('queues', 'messages', 'failed')).toContain('dead-1');
    expect(await run('queues', 'pause', 'backlog')).toBe('backlog/shop is paused\n');
    expect(await run('queues', 'purge', 'raw', '--yes')).toBe('1 message removed from raw/shop\n');
    expect(await run('jobs')).toMatch(/^every +@every 1h /m);
    expect(await run('jobs', 'show', 'retrying')).toContain('retrying');
    expect(await run('workflows')).toContain('event-waiting');
    expect(await run('workflows', 'show', 'failed')).toContain('not yet');
    expect(await run('workflows', 'history', 'long')).toContain('step');
  });
});
