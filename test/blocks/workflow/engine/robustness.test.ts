import { describe, expect, test } from 'vitest';
import { defineActivity, defineWorkflow, EventTimeoutError, TaskFailedError } from '../../../../src/index.ts';
import { workflowWorld } from '../../../support/workflow-world.ts';

const turnOf = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const HISTORY = /history/;

describe('a state store that fails', () => {
  const register = (runs: string[]) => {
    const note = defineActivity('note', (text: string) => {
      runs.push(text);
      return text;
    });
    return defineWorkflow('flow', async (ctx) => [
      await ctx.callActivity(note, 'a'),
      await ctx.waitForEvent('go'),
      await ctx.callActivity(note, 'b'),
    ]);
  };

  test('at the start: the start is refused, and nothing of it is left', async () => {
    const runs: string[] = [];
    await using world = await workflowWorld(({ workflows }) => workflows.register(register(runs)));
    world.store.interfere = () => Promise.reject(new Error('the disk is full'));
    await expect(world.sidecar.workflows.start('flow', 1, { instanceId: 'one' })).rejects.toMatchObject({
      code: 'ERR_START_WORKFLOW',
    });
    world.store.interfere = (_batch, commit) => commit();
    await world.clock.settled();
    expect([runs, await world.sidecar.workflows.get('one')]).toEqual([[], undefined]);
    expect((await world.run('flow')).status).toBe('RUNNING');
  });

  test('later: turns are written when it works again, and no activity runs twice', async () => {
    const runs: string[] = [];
    await using world = await workflowWorld(({ workflows }) => workflows.register(register(runs)));
    await world.run('flow');
    let failures = 3;
    world.store.interfere = (batch, commit) =>
      batch.put?.some(({ key }) => HISTORY.test(key)) && failures-- > 0 ? Promise.reject(new Error('no')) : commit();
    await expect(world.sidecar.workflows.raiseEvent('one', 'go', 1)).rejects.toMatchObject({
      code: 'ERR_RAISE_EVENT_WORKFLOW',
    });
    expect(await world.pass('10s')).toMatchObject({ status: 'COMPLETED', output: ['a', 1, 'b'] });
    expect(runs).toEqual(['a', 'b']);
  });

  test('with a commit of which nobody knows whether it came through: each result counts once', async () => {
    const runs: string[] = [];
    await using world = await workflowWorld(({ workflows }) => workflows.register(register(runs)));
    await world.run('flow');
    let isFirst = true;
    world.store.interfere = async (batch, commit) => {
      const version = await commit();
      if (!isFirst || !batch.put?.some(({ key }) => HISTORY.test(key))) return version;
      isFirst = false;
      throw new Error('connection lost after the commit');
    };
    await world.sidecar.workflows.raiseEvent('one', 'go', 1).catch(() => undefined);
    expect(await world.pass('10s')).toMatchObject({ status: 'COMPLETED', output: ['a', 1, 'b'] });
    const history = await world.history();
    expect(history.filter(({ type }) => type === 'activityCompleted').length).toBe(2);
    expect(history.filter(({ type }) => type === 'eventRaised').length).toBe(1);
  });
});

describe('code that waits for the world', () => {
  test('beside something of ours: FAILED as soon as the world wakes it', async () => {
    let wake: () => void = () => undefined;
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', async (ctx) => {
        const foreign = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await Promise.race([ctx.waitForEvent('never'), foreign]);
        return ctx.callActivity('any');
      }),
    );
    expect((await world.run('flow')).status).toBe('RUNNING');
    wake();
    await turnOf();
    expect(await world.settle()).toMatchObject({
      status: 'FAILED',
      failure: { errorType: 'WorkflowAwaitError', message: expect.stringContaining('activity "any"') },
    });
  });

  test('long chains of promises are not taken for it', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', async (ctx) => {
        for (let index = 0; index < 20_000; index++) await null;
        await ctx.sleep(1);
        for (let index = 0; index < 20_000; index++) await Promise.resolve(index);
        return 'through';
      }),
    );
    await world.run('flow');
    expect(await world.pass(1)).toMatchObject({ status: 'COMPLETED', output: 'through' });
  });
});

describe('failures that nobody waits for', () => {
  test('are no unhandled rejections: the process goes on', async () => {
    const unhandled: unknown[] = [];
    const listen = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', listen);
    try {
      await using world = await workflowWorld(({ workflows }) =>
        workflows.register(
          defineActivity('fail', () => {
            throw new TypeError('no');
          }),
          defineWorkflow('flow', async (ctx) => {
            void ctx.callActivity('fail');
            const both = ctx.all([ctx.callActivity('fail'), ctx.callActivity('fail')]);
            await ctx.sleep('1m');
            return both.catch((error: TaskFailedError) => [
              error instanceof TaskFailedError,
              error instanceof EventTimeoutError,
              error.task,
              error.failure.errorType,
            ]);
          }),
        ),
      );
      await world.run('flow');
      expect((await world.pass('1m')).output).toEqual([true, false, 'activity "fail"', 'TypeError']);
      await turnOf();
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', listen);
    }
  });
});

test('a start that is refused does no harm to the sleeping instance whose ID it is', async () => {
  await using world = await workflowWorld(
    ({ workflows }) => workflows.register('flow', (ctx) => ctx.sleep('1m').then(() => 'awake')),
    { workflows: { maxIdleInstances: 0 } },
  );
  await world.run('flow');
  const again = world.sidecar.workflows.start('flow', undefined, { instanceId: 'one' });
  await expect(again).rejects.toMatchObject({ code: 'ERR_START_WORKFLOW' });
  expect(await world.pass('1m')).toMatchObject({ status: 'COMPLETED', output: 'awake' });
});

describe('what is too large', () => {
  const LARGE = 'x'.repeat(7 * 1024 * 1024);

  test('an input or event is refused, and nothing happens', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', (ctx) => ctx.waitForEvent('go')),
    );
    const { workflows } = world.sidecar;
    await expect(workflows.start('flow', LARGE)).rejects.toMatchObject({ code: 'ERR_BODY_TOO_LARGE' });
    await world.run('flow');
    await expect(workflows.raiseEvent('one', 'go', LARGE)).rejects.toMatchObject({ code: 'ERR_BODY_TOO_LARGE' });
    expect((await world.settle()).status).toBe('RUNNING');
  });

  test('the output of an activity fails that activity', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('large', () => LARGE),
        defineWorkflow('flow', (ctx) => ctx.callActivity('large').catch((error: Error) => error.message)),
      ),
    );
    expect((await world.run('flow')).output).toMatch(/output of activity "large" has \d+ bytes/);
  });

  test('a turn of more than a commit can hold fails the instance; one of less is spread over values', async () => {
    const part = 'x'.repeat(3 * 1024 * 1024);
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('length', (text: string) => text.length),
        defineWorkflow('flow', async (ctx, count: number) =>
          Promise.all(Array.from({ length: count }, () => ctx.callActivity<number>('length', part))),
        ),
      ),
    );
    expect((await world.run('flow', 5)).output).toEqual(Array.from({ length: 5 }, () => part.length));
    const { status, failure } = await world.run('flow', 30, 'two');
    expect([status, failure?.errorType]).toEqual(['FAILED', 'PayloadTooLargeError']);
  });

  test('events that the next run cannot take over fail the instance, which leaves memory and expires', async () => {
    const part = 'x'.repeat(5 * 1024 * 1024);
    await using world = await workflowWorld(
      ({ workflows }) =>
        workflows.register('flow', async (ctx) => {
          await ctx.waitForEvent('go');
          return ctx.continueAsNew();
        }),
      { workflows: { retention: { failed: 1_000 } } },
    );
    await world.run('flow');
    const { workflows } = world.sidecar;
    for (let count = 0; count < 10; count++) await workflows.raiseEvent('one', 'part', part);
    expect(await world.raise('go')).toMatchObject({
      status: 'FAILED',
      failure: { errorType: 'PayloadTooLargeError' },
    });
    expect(workflows.service.liveCount).toBe(0);
    await world.clock.advance('2s');
    await world.clock.settled();
    expect(await workflows.get('one')).toBeUndefined();
  });
});

describe('reading', () => {
  test('waits for the end no longer than it is told to, or until the signal', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register('flow', (ctx) => ctx.waitForEvent('go')),
    );
    await world.run('flow');
    const { workflows } = world.sidecar;
    const late = expect(workflows.run('one').ended({ timeout: 5_000 })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_TIMEOUT',
    });
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = expect(workflows.run('one').ended({ signal })).rejects.toThrow('enough');
    await world.clock.advance('5s');
    await late;
    controller.abort(new Error('enough'));
    await aborted;
    await expect(workflows.run('none').ended()).rejects.toMatchObject({ code: 'ERR_INSTANCE_ID_NOT_FOUND' });
  });

  test('lists page by page, by status and by name', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineWorkflow('waiting', (ctx) => ctx.waitForEvent('go')),
        defineWorkflow('plain', () => 'done'),
      ),
    );
    for (let index = 0; index < 25; index++)
      await world.run(index % 5 === 0 ? 'waiting' : 'plain', undefined, `i${String(index).padStart(2, '0')}`);
    const { workflows } = world.sidecar;
    const ids: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const page: Awaited<ReturnType<typeof workflows.listPage>> = await workflows.listPage({
        limit: 4,
        status: 'COMPLETED',
        ...(cursor === '' ? {} : { cursor }),
      });
      ids.push(...page.instances.map(({ instanceId }) => instanceId));
      cursor = page.cursor;
    }
    expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
    expect(pages).toBeLessThanOrEqual(6);
    const waiting = await workflows.listPage({ name: 'waiting' });
    expect(waiting.instances.map(({ instanceId }) => instanceId)).toEqual(['i00', 'i05', 'i10', 'i15', 'i20']);
  });
});
