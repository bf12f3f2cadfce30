import { describe, expect, test } from 'vitest';
import { WorkflowLayout } from '../../../src/blocks/workflow/storage/layout.ts';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import type { WorkflowBulkOptions, WorkflowListOptions } from '../../../src/index.ts';
import { temporaryDirectory } from '../../support/embedded-store.ts';
import { Fleet } from '../../support/fleet.ts';
import { type Registering, WorkflowWorld, workflowWorld } from '../../support/workflow-world.ts';

/** `echo` returns its input, `fail` fails, `wait` waits for an event, `parent` starts children. */
const registering: Registering = ({ workflows }, world) => {
  workflows.register('echo', async (ctx, input) => {
    world.seen.push(ctx.instanceId);
    return input;
  });
  workflows.register('fail', async () => {
    throw new Error('no');
  });
  workflows.register('wait', (ctx) => ctx.waitForEvent('go'));
  workflows.register('parent', (ctx, count: number) =>
    ctx.all(Array.from({ length: count }, (_, index) => ctx.callChild('echo', index))),
  );
};

const STORES = [
  ['memory', () => ({})],
  ['embedded', () => ({ state: embeddedState({ path: temporaryDirectory() }) })],
] as const;

/** Instances of three kinds, the later ones an hour after the others. */
async function some(world: WorkflowWorld): Promise<void> {
  for (const id of ['a-1', 'a-2']) await world.run('echo', id, id);
  await world.run('fail', 1, 'a-3');
  await world.pass('1h', 'a-3');
  await world.run('wait', 1, 'a-4');
  await world.run('fail', 1, 'b-1');
  await world.run('parent', 3, 'p');
}

describe.each(STORES)('list, state in %s', (_store, optionsOf) => {
  test('by status, name, prefix, since and parent, in both directions, page by page', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    const startedAt = world.clock.now();
    await some(world);
    const ids = async (options: WorkflowListOptions): Promise<string> => {
      const all: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await world.sidecar.workflows.listPage({ limit: 2, ...options, ...(cursor && { cursor }) });
        expect(page.instances.length).toBeLessThanOrEqual(2);
        all.push(...page.instances.map(({ instanceId }) => instanceId));
        cursor = page.cursor;
      } while (cursor !== undefined);
      const { cursor: _cursor, limit: _limit, ...filter } = options;
      const each: string[] = [];
      for await (const { instanceId } of world.sidecar.workflows.list(filter)) each.push(instanceId);
      expect(each).toEqual(all);
      return all.join(' ');
    };
    const all = 'a-1 a-2 a-3 a-4 b-1 p p-0001 p-0002 p-0003';
    const reversed = all.split(' ').reverse().join(' ');
    for (const round of [1, 2]) {
      expect(await ids({})).toBe(all);
      expect(await ids({ reverse: true })).toBe(reversed);
      expect(await ids({ prefix: 'a-' })).toBe('a-1 a-2 a-3 a-4');
      expect(await ids({ prefix: 'a-', reverse: true, status: 'FAILED' })).toBe('a-3');
      expect(await ids({ status: ['FAILED', 'RUNNING'] })).toBe('a-3 a-4 b-1');
      expect(await ids({ name: 'echo', since: startedAt + 1 })).toBe('p-0001 p-0002 p-0003');
      expect(await ids({ since: new Date(startedAt + 1), status: 'FAILED' })).toBe('b-1');
      expect(await ids({ parentId: 'p' })).toBe('p-0001 p-0002 p-0003');
      expect(await ids({ parentId: 'p', reverse: true })).toBe('p-0003 p-0002 p-0001');
      expect(await ids({ parentId: 'p', prefix: 'p-0002' })).toBe('p-0002');
      expect(await ids({ parentId: 'a-1' })).toBe('');
      if (round === 1) await world.restart();
    }
  });
});

test('since that is no instant is an error', async () => {
  await using world = await workflowWorld(registering);
  const since = new Date('yesterday');
  await expect(world.sidecar.workflows.listPage({ since })).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
});

describe('history', () => {
  test('tells of results which call they belong to and how long they took, over a restart', async () => {
    let attempts = 0;
    const code: Registering = ({ workflows }, world) => {
      workflows.register('order', async (ctx) => {
        await ctx.callActivity('charge', 1, { retry: { maxRetries: 1, delay: 5_000 } });
        await ctx.sleep('1m');
        return ctx.callChild('wait');
      });
      workflows.register('wait', (ctx) => ctx.sleep('2s'));
      workflows.registerActivity('charge', async () => {
        await new Promise<void>((resolve) => world.clock.setTimeout(resolve, 3_000));
        if (++attempts === 1) throw new Error('no');
      });
    };
    await using world = await workflowWorld(code);
    await world.sidecar.workflows.start('order', undefined, { instanceId: 'one' });
    expect((await world.pass('2m')).status).toBe('COMPLETED');
    await world.restart();
    const shown = (await world.history()).map(
      (event) =>
        `${event.type} ${['sequence', 'activityId', 'attempt', 'durationMs'].map((field) => Reflect.get(event, field) ?? '-').join(' ')}`,
    );
    expect(shown).toEqual([
      'started - - - -',
      'activityScheduled 1 1 1 -',
      'activityFailed 1 1 - 3000',
      'timerCreated 2 - - -',
      'timerFired 2 - - 5000',
      'activityScheduled 3 1 2 -',
      'activityCompleted 3 1 - 3000',
      'timerCreated 4 - - -',
      'timerFired 4 - - 60000',
      'childStarted 5 - - -',
      'childCompleted 5 - - 2000',
    ]);
  });
});

describe.each(STORES)('in bulk, state in %s', (_store, optionsOf) => {
  test('terminateAll ends those that are not over, up to a limit', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    await some(world);
    const { workflows } = world.sidecar;
    for (const id of ['w-1', 'w-2', 'w-3']) await world.run('wait', 1, id);
    expect(await workflows.terminateAll({ name: 'wait', limit: 3 }, 'enough')).toEqual({
      done: 3,
      failed: [],
      hasMore: true,
    });
    expect(await workflows.terminateAll({ name: 'wait', limit: 3 })).toEqual({ done: 1, failed: [], hasMore: false });
    await world.clock.settled();
    const { instances } = await workflows.listPage({ status: 'TERMINATED' });
    expect(instances.map(({ instanceId }) => instanceId)).toEqual(['a-4', 'w-1', 'w-2', 'w-3']);
    expect((await workflows.get('w-1'))?.output).toBe('enough');
  });

  test('cancelAll asks those that are not over to clean up and end', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    await some(world);
    const { workflows } = world.sidecar;
    for (const id of ['w-1', 'w-2']) await world.run('wait', 1, id);
    expect(await workflows.cancelAll({ prefix: 'w-' })).toEqual({ done: 2, failed: [], hasMore: false });
    await world.clock.settled();
    const canceled: string[] = [];
    for await (const { instanceId } of workflows.list({ status: 'CANCELED' })) canceled.push(instanceId);
    expect(canceled).toEqual(['w-1', 'w-2']);
    await expect(workflows.cancelAll({})).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  });

  test('purgeAll removes those that are over, with their children, and tells of those that it cannot remove', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    await some(world);
    const { workflows } = world.sidecar;
    workflows.register('leaver', async (ctx) => void ctx.callChild('wait'));
    await world.run('leaver', 1, 'z');
    expect(await workflows.purgeAll({ since: 0 })).toEqual({
      done: 8,
      failed: [{ instanceId: 'z', reason: 'workflow "z-0001" is RUNNING: expected a finished one' }],
      hasMore: false,
    });
    const { instances } = await workflows.listPage();
    expect(instances.map(({ instanceId }) => instanceId)).toEqual(['a-4', 'z', 'z-0001']);
  });

  test('rerunAll runs those that have failed again, once each', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    await some(world);
    await world.restart(({ workflows }) => workflows.register('fail', async () => 'mended'));
    const { workflows } = world.sidecar;
    expect(await workflows.rerunAll({ name: 'fail' }, { from: 'failure' })).toEqual({
      done: 2,
      failed: [],
      hasMore: false,
    });
    await world.clock.settled();
    const { instances } = await workflows.listPage({ name: 'fail', status: 'COMPLETED' });
    expect(instances.map(({ rerunOf, output }) => `${rerunOf} ${output}`).sort()).toEqual(['a-3 mended', 'b-1 mended']);
    expect(await workflows.rerunAll({ prefix: 'a-3' }, { from: 7 })).toEqual({
      done: 0,
      failed: [{ instanceId: 'a-3', reason: 'workflow "a-3" has no action 7: expected one from 1 to 0' }],
      hasMore: false,
    });
  });

  test('a thousand instances', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    const { workflows } = world.sidecar;
    const ids = Array.from({ length: 1_000 }, (_, index) => `i-${index}`);
    await Promise.all(ids.map((instanceId) => workflows.start('echo', 1, { instanceId })));
    await world.clock.settled();
    world.seen.length = 0;
    const [again] = await Promise.all([
      workflows.rerunAll({ prefix: 'i-' }),
      ...ids.map((id) => workflows.start('wait', 1, { instanceId: `w${id}` })),
    ]);
    expect(again).toEqual({ done: 1_000, failed: [], hasMore: false });
    await world.clock.settled();
    expect(world.seen.length).toBe(1_000);
    expect(await workflows.terminateAll({ name: 'wait' })).toMatchObject({ done: 1_000 });
    await world.clock.settled();
    expect(await workflows.purgeAll({ since: 0, limit: 10_000 })).toEqual({ done: 3_000, failed: [], hasMore: false });
    expect((await workflows.listPage()).instances).toEqual([]);
  });
});

describe('the filter of an operation in bulk', () => {
  test.each<[object, string]>([
    [{}, 'the filter is empty: expected one of status, name, prefix, since, parentId'],
    [{ limit: 5 }, 'the filter is empty'],
    [{ status: undefined }, 'the filter is empty'],
    [{ prefix: 'a', limit: 0 }, 'limit in the filter is 0: expected a whole number from 1 to 10000'],
    [{ perfix: 'a' }, 'the filter: unknown field "perfix"'],
  ])('%j is an error', async (filter, message) => {
    await using world = await workflowWorld(registering);
    await world.run('echo', 1);
    const error = { code: 'ERR_INVALID_ARGUMENT', message: expect.stringContaining(message) };
    await expect(world.sidecar.workflows.purgeAll(filter as WorkflowBulkOptions)).rejects.toMatchObject(error);
    expect((await world.settle()).status).toBe('COMPLETED');
  });

  test('that asks for statuses which the operation cannot act on means nothing', async () => {
    await using world = await workflowWorld(registering);
    await world.run('wait', 1);
    expect(await world.sidecar.workflows.purgeAll({ status: 'RUNNING' })).toEqual({
      done: 0,
      failed: [],
      hasMore: false,
    });
  });
});

describe.each(STORES)('retention.maxCount, state in %s', (_store, optionsOf) => {
  test('keeps those that finished last, at the start and while others finish', async () => {
    await using world = await workflowWorld(registering, optionsOf());
    await some(world);
    for (let index = 0; index < 50; index++) await world.run('echo', index, `x-${String(index).padStart(4, '0')}`);
    await using later = new WorkflowWorld(registering, {
      clock: world.clock,
      state: world.stateOptions,
      workflows: { retention: { maxCount: 20 } },
    });
    await world.stop();
    await later.start();
    const ids = async (): Promise<readonly string[]> =>
      (await later.sidecar.workflows.listPage({ limit: 1_000 })).instances.map(({ instanceId }) => instanceId);
    expect(await ids()).toEqual(['a-4', ...Array.from({ length: 20 }, (_, index) => `x-00${30 + index}`)]);
    for (let index = 50; index < 180; index++) {
      await later.pass(1, 'a-4');
      await later.run('echo', index, `x-${String(index).padStart(4, '0')}`);
    }
    const kept = await ids();
    expect(kept.length).toBeLessThanOrEqual(1 + 20 + 100);
    expect(kept.slice(-20)).toEqual(Array.from({ length: 20 }, (_, index) => `x-0${160 + index}`));
  });
});

describe('on two hosts', () => {
  test('operations in bulk reach the instances of both', async () => {
    await using fleet = new Fleet();
    const join = async () => {
      const member = await fleet.join();
      member.sidecar.workflows.register('wait', (ctx) => ctx.waitForEvent('go'));
      return member;
    };
    const [a, b] = [await join(), await join()];
    await fleet.pass(3);
    for (let index = 0; index < 20; index++) await a.sidecar.workflows.start('wait', 1, { instanceId: `w-${index}` });
    await fleet.pass(3);
    expect(await b.sidecar.workflows.terminateAll({ prefix: 'w-' })).toEqual({ done: 20, failed: [], hasMore: false });
    await fleet.pass(3);
    expect((await a.sidecar.workflows.listPage({ status: 'TERMINATED' })).instances.length).toBe(20);
    expect(await b.sidecar.workflows.rerunAll({ prefix: 'w-' })).toMatchObject({ done: 20 });
    await fleet.pass(3);
    expect((await a.sidecar.workflows.listPage({ status: 'RUNNING' })).instances.length).toBe(20);
    expect(await a.sidecar.workflows.purgeAll({ status: 'TERMINATED' })).toMatchObject({ done: 20, failed: [] });
  });
});

test('an instance that a release before has stored is listed, shown and run again', async () => {
  await using world = new WorkflowWorld((sidecar) =>
    sidecar.workflows.register('order', async (ctx, id) => {
      await ctx.callActivity('reserve', id);
      return ctx.callActivity('ship', id);
    }),
  );
  world.sidecar.workflows.registerActivity('reserve', () => 'never');
  world.sidecar.workflows.registerActivity('ship', () => 'shipped');
  const layout = new WorkflowLayout('shop');
  const failure = '{"errorType":"RangeError","message":"no lorry"}';
  const value = (text: string): Buffer => Buffer.from(`\u0001${text}`);
  await world.store.memory.commit({
    put: [
      {
        key: layout.instance('old'),
        value: value(
          `{"n":"order","s":4,"c":1767225600000,"u":1767225603000,"e":"run-1","h":3,"v":7,"o":-1,"m":-1,"f":${failure},"x":2}\n`,
        ),
      },
      {
        key: layout.history('old', 0),
        value: value('[1767225600000,0,3,[["s",3],["b"],["a",1,"reserve",1,1,3]]]\n"a""a"'),
      },
      {
        key: layout.history('old', 1),
        value: value('[1767225601000,0,5,[["A",1,6],["a",2,"ship",1,2,3]]]\n"done""a"'),
      },
      { key: layout.history('old', 2), value: value(`[1767225603000,0,6,[["F",2,${failure}]]]\n`) },
    ],
  });
  await world.start();
  const { workflows } = world.sidecar;
  expect((await workflows.listPage({ status: 'FAILED' })).instances).toMatchObject([
    { instanceId: 'old', name: 'order' },
  ]);
  expect((await workflows.history('old')).at(-1)).toMatchObject({
    type: 'activityFailed',
    activityId: 2,
    durationMs: 2_000,
  });
  await workflows.rerun('old', { from: 'failure', instanceId: 'new' });
  expect(await world.settle('new')).toMatchObject({
    status: 'COMPLETED',
    output: 'shipped',
    input: 'a',
    rerunOf: 'old',
  });
});

test('whether there is one instance of a kind is known after few reads', async () => {
  await using world = await workflowWorld(registering);
  const { workflows } = world.sidecar;
  await Promise.all(
    Array.from({ length: 500 }, (_, number) => workflows.start('echo', undefined, { instanceId: `i${number}` })),
  );
  await world.clock.settled();
  const before = world.store.scans;
  expect((await workflows.listPage({ status: 'FAILED', limit: 1 })).instances).toEqual([]);
  expect(await workflows.terminateAll({ name: 'nope', limit: 1 })).toMatchObject({ done: 0 });
  expect(world.store.scans - before).toBeLessThan(20);
});
