/** Code that is not registered is waited for: what one deploy lacks, the next one brings. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { embeddedState } from '../../../../src/components/embedded/index.ts';
import {
  type WorkflowContext as DaprContext,
  DaprWorkflowClient,
  WorkflowRuntime,
} from '../../../../src/dapr/index.ts';
import { request } from '../../../../src/http/message.ts';
import { defineActivity, defineWorkflow, Sidecar, type WorkflowState } from '../../../../src/index.ts';
import { patientClock } from '../../../support/clock.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { type WorkflowWorld, workflowWorld } from '../../../support/workflow-world.ts';

const shop = defineWorkflow('shop', async (ctx, id: string) => {
  ctx.setCustomStatus('charging');
  return await ctx.callActivity<string>('charge', id, { retry: { maxRetries: 2 } });
});
const charge = defineActivity('charge', (id: string) => `charged ${id}`);
const parent = defineWorkflow('parent', (ctx, id: string) => ctx.callChild('shop', id, { instanceId: 'kid' }));

const lacking = ({ workflows }: Sidecar): void => workflows.register(shop);
const whole = ({ workflows }: Sidecar): void => workflows.register(shop, charge);

const WAITING = { status: 'RUNNING', missingCode: [{ kind: 'activity', name: 'charge' }] };

function warningsOf({ lines }: RecordingLogger): readonly string[] {
  return lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
}

async function typesOf(world: WorkflowWorld, id?: string): Promise<readonly string[]> {
  return (await world.history(id)).map(({ type }) => type);
}

describe('an activity that is not registered', () => {
  test('is waited for: the instance runs on as soon as it is registered, without another attempt', async () => {
    await using world = await workflowWorld(lacking);
    const failed: string[] = [];
    world.sidecar.events.on('activityFailed', ({ reason }) => failed.push(reason));
    expect(await world.run('shop', 'a')).toMatchObject({ ...WAITING, customStatus: 'charging' });
    expect(await world.pass('100h')).toMatchObject(WAITING);
    world.sidecar.workflows.register(charge);
    const { status, output, missingCode, customStatus } = await world.settle();
    expect({ status, output, missingCode, customStatus }).toEqual({
      status: 'COMPLETED',
      output: 'charged a',
      missingCode: undefined,
      customStatus: 'charging',
    });
    expect(await typesOf(world)).toEqual(['started', 'activityScheduled', 'activityCompleted']);
    expect(failed).toEqual([]);
  });

  test('nothing polls for it', async () => {
    await using world = await workflowWorld(lacking);
    const before = world.clock.pendingTimers;
    await world.run('shop', 'a');
    expect(world.clock.pendingTimers).toBe(before);
  });

  test('after a restart without it and one with it, the instance goes on', async () => {
    await using world = await workflowWorld(whole);
    world.sidecar.workflows.register(
      defineWorkflow('later', async (ctx, id: string) => {
        await ctx.sleep('1h');
        return await ctx.callActivity('charge', id);
      }),
    );
    await world.run('later', 'a');
    const again = (isWhole: boolean) => (sidecar: Sidecar) => {
      (isWhole ? whole : lacking)(sidecar);
      sidecar.workflows.register(
        defineWorkflow('later', async (ctx, id: string) => {
          await ctx.sleep('1h');
          return await ctx.callActivity('charge', id);
        }),
      );
    };
    await world.restart(again(false));
    expect(await world.pass('1h')).toMatchObject(WAITING);
    await world.restart(again(false));
    expect(await world.settle()).toMatchObject(WAITING);
    await world.restart(again(true));
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'charged a' });
  });

  test('is warned about once per name, with what to do', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        shop,
        defineWorkflow('mailing', (ctx) => ctx.callActivity('constructor')),
      ),
    );
    for (const id of ['a', 'b', 'c']) await world.run('shop', id, id);
    for (const id of ['d', 'e']) await world.run('mailing', undefined, id);
    expect(warningsOf(world.logger)).toEqual([
      'instances wait for the code of activity "charge": register it, or terminate them',
      'instances wait for the code of activity "constructor": register it, or terminate them',
    ]);
    expect((await world.settle('d')).missingCode).toEqual([{ kind: 'activity', name: 'constructor' }]);
  });

  test('holds up only what waits for it: timers, events and other activities go on', async () => {
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        defineActivity('quick', () => 'quick'),
        defineWorkflow('racing', async (ctx) => {
          const slow = ctx.callActivity('slow').then(() => 'slow');
          const quick = await ctx.callActivity('quick');
          const event = await ctx.waitForEvent<string>('go');
          return [quick, event, await Promise.race([slow, ctx.sleep('1m').then(() => 'too late')])];
        }),
      ),
    );
    await world.run('racing');
    await world.raise('go', 'went');
    expect(await world.pass('1m')).toMatchObject({ status: 'COMPLETED', output: ['quick', 'went', 'too late'] });
  });

  test('an instance that waits can be paused, resumed and terminated', async () => {
    await using world = await workflowWorld(lacking);
    await world.run('shop', 'a');
    await world.sidecar.workflows.pause('one');
    expect((await world.settle()).status).toBe('SUSPENDED');
    await world.sidecar.workflows.resume('one');
    expect(await world.settle()).toMatchObject(WAITING);
    await world.sidecar.workflows.terminate('one');
    expect(await world.settle()).toMatchObject({ status: 'TERMINATED' });
    expect((await world.settle()).missingCode).toBeUndefined();
    expect(world.sidecar.metadata.get().workflows.connectedWorkers).toBe(1);
    world.sidecar.workflows.register(charge);
    expect(await typesOf(world)).not.toContain('activityCompleted');
  });

  test('is told in the list and over HTTP', async () => {
    await using world = await workflowWorld(lacking);
    await world.run('shop', 'a');
    expect((await world.sidecar.workflows.listPage()).instances).toMatchObject([WAITING]);
    const { body } = await world.sidecar.handle(request('GET', '/v1.0/workflows/sidecar/one'));
    expect(JSON.parse(Buffer.from(body as Uint8Array).toString())).toMatchObject({
      runtimeStatus: 'RUNNING',
      properties: {
        'sidecar.workflow.missing_code': 'activity "charge"',
        'sidecar.workflow.custom_status': 'charging',
      },
    });
  });

  test('a generator waits for it as well', async () => {
    function* flow(ctx: DaprContext): Generator<unknown, unknown, unknown> {
      return yield ctx.callActivity('charge', 'a');
    }
    await using world = await workflowWorld((sidecar) => void new WorkflowRuntime({ sidecar }).registerWorkflow(flow));
    expect(await world.run('flow')).toMatchObject(WAITING);
    const client = new DaprWorkflowClient({ sidecar: world.sidecar });
    expect((await client.getWorkflowState('one', true))?.missingCode).toEqual(WAITING.missingCode);
    new WorkflowRuntime({ sidecar: world.sidecar }).registerActivityWithName('charge', (_ctx, id) => `charged ${id}`);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'charged a' });
  });

  test('a stop with instances that wait does not hang', async () => {
    const clock = patientClock();
    const sidecar = new Sidecar({ appId: 'shop', clock, logger: new RecordingLogger() });
    sidecar.workflows.register(shop);
    await sidecar.start();
    await sidecar.workflows.start('shop', 'a');
    await clock.settled();
    const before = clock.now();
    await sidecar.stop();
    expect(clock.now()).toBe(before);
  });
});

describe('a child workflow that is not registered', () => {
  test('is waited for, and says so itself', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(parent, charge));
    expect(await world.run('parent', 'a')).toMatchObject({ status: 'RUNNING' });
    expect(await world.settle('kid')).toMatchObject({
      status: 'PENDING',
      missingCode: [{ kind: 'workflow', name: 'shop' }],
    });
    expect(warningsOf(world.logger)).toEqual([
      'instances wait for the code of workflow "shop": register it, or terminate them',
    ]);
    world.sidecar.workflows.register(shop);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'charged a' });
  });

  test('after a restart with it, goes on', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(parent));
    await world.run('parent', 'a');
    await world.restart(({ workflows }) => workflows.register(parent, shop, charge));
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'charged a' });
  });

  test('ends with its parent, and is purged with it', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(parent));
    await world.run('parent', 'a');
    await world.sidecar.workflows.terminate('one');
    expect(await world.settle('kid')).toMatchObject({ status: 'TERMINATED' });
    await world.sidecar.workflows.purge('one');
    expect(await world.size()).toBe(0);
  });

  test('takes the ID of one that is over and still has an activity that runs', async () => {
    let end: (value: string) => void = () => undefined;
    await using world = await workflowWorld(({ workflows }) =>
      workflows.register(
        parent,
        defineActivity('slow', () => new Promise<string>((resolve) => (end = resolve))),
        defineWorkflow('other', (ctx) => void ctx.callActivity('slow')),
      ),
    );
    await world.sidecar.workflows.start('other', undefined, { instanceId: 'kid' });
    await world.sidecar.workflows.start('parent', 'a', { instanceId: 'one' });
    await expect.poll(() => world.sidecar.workflows.get('kid')).toMatchObject({ name: 'shop', status: 'PENDING' });
    end('late');
    await world.settle();
    world.sidecar.workflows.register(shop, charge);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'charged a' });
  });
});

describe('a child workflow that only the call of its parent registers', () => {
  const kid = defineWorkflow('kid', (ctx) => ctx.waitForEvent('go'));
  const middle = defineWorkflow('middle', (ctx) => ctx.callChild(kid, undefined, { instanceId: 'kid' }));
  const top = defineWorkflow('top', (ctx) => ctx.callChild(middle, undefined, { instanceId: 'middle' }));

  test('goes on after a restart, and with it its parents', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(top));
    await world.run('top');
    await world.restart();
    await world.raise('go', 1, 'kid');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 1 });
    expect(warningsOf(world.logger)).toEqual([]);
  });

  test('goes on when a parent of its parent is registered', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(top));
    await world.run('top');
    await world.restart(() => undefined);
    await world.sidecar.workflows.raiseEvent('kid', 'go', 1);
    expect(await world.settle('kid')).toMatchObject({ missingCode: [{ kind: 'workflow', name: 'kid' }] });
    world.sidecar.workflows.register(top);
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 1 });
  });

  test('is tried again when its parent could not be read', async () => {
    const late = defineWorkflow('late', (ctx) => ctx.sleep('1h'));
    const calling = defineWorkflow('calling', (ctx) => ctx.callChild(late));
    await using world = await workflowWorld(({ workflows }) => workflows.register(calling));
    await world.run('calling');
    const { memory } = world.store;
    const get = memory.get.bind(memory);
    const broken = vi.spyOn(memory, 'get').mockImplementation((key) => {
      if (!key.includes('!instance!one!')) return get(key);
      broken.mockImplementation(get);
      return Promise.reject(new Error('the disk is on fire'));
    });
    await world.restart(undefined, '2h');
    await world.clock.settled();
    expect(world.logger.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
    expect(await world.pass('5s')).toMatchObject({ status: 'COMPLETED' });
  });

  test('waits for its code when its ID is that of the parent of its parent', async () => {
    const first = defineWorkflow('first', (ctx) => void ctx.callChild('second', undefined, { instanceId: 'two' }));
    const second = defineWorkflow('second', async (ctx) => {
      await ctx.waitForEvent('go');
      return ctx.callChild('kid', undefined, { instanceId: 'one' });
    });
    const register = ({ workflows }: Sidecar): void => workflows.register(first, second, kid);
    await using world = await workflowWorld(register);
    await world.run('first');
    await world.raise('go', undefined, 'two');
    expect(await world.settle()).toMatchObject({ name: 'kid', status: 'RUNNING', parentId: 'two' });
    expect(await world.settle('two')).toMatchObject({ status: 'RUNNING', parentId: 'one' });
    await world.restart(() => undefined);
    const { workflows } = world.sidecar;
    await Promise.all([workflows.raiseEvent('one', 'go', 1), workflows.raiseEvent('two', 'go')]);
    expect(await world.settle()).toMatchObject({ missingCode: [{ kind: 'workflow', name: 'kid' }] });
    register(world.sidecar);
    expect(await world.settle('two')).toMatchObject({ status: 'COMPLETED', output: 1 });
  });
});

test('a workflow that is started for later may be registered until then', async () => {
  await using world = await workflowWorld(lacking);
  const startAt = world.clock.now() + 3_600_000;
  for (const name of ['later', 'typo']) await world.sidecar.workflows.start(name, 1, { instanceId: name, startAt });
  await world.clock.settled();
  world.sidecar.workflows.register(defineWorkflow('later', (_ctx, input: number) => input + 1));
  expect(await world.pass('1h', 'later')).toMatchObject({ status: 'COMPLETED', output: 2 });
  expect(await world.settle('typo')).toMatchObject({ status: 'FAILED' });
});

test('a workflow that is started and is not registered fails at once', async () => {
  await using world = await workflowWorld(lacking);
  expect(await world.run('typo')).toMatchObject({ status: 'FAILED', failure: { errorType: 'NotRegisteredError' } });
});

test('instances whose workflow is not registered after a restart say so, and are warned about once per name', async () => {
  const two = defineWorkflow('two', (ctx) => ctx.sleep('1h'));
  const three = defineWorkflow('three', (ctx) => ctx.sleep('1h'));
  await using world = await workflowWorld(({ workflows }) => workflows.register(two, three));
  for (const [name, id] of [
    ['two', 'a'],
    ['two', 'b'],
    ['three', 'c'],
  ] as const)
    await world.run(name, undefined, id);
  await world.restart(() => undefined, '2h');
  expect(await world.settle('a')).toMatchObject({
    status: 'RUNNING',
    missingCode: [{ kind: 'workflow', name: 'two' }],
  });
  expect(warningsOf(world.logger)).toEqual([
    'instances wait for the code of workflow "two": register it, or terminate them',
    'instances wait for the code of workflow "three": register it, or terminate them',
  ]);
  world.sidecar.workflows.register(two);
  expect(await world.settle('b')).toMatchObject({ status: 'COMPLETED' });
  expect(await world.settle('c')).toMatchObject({ status: 'RUNNING' });
});

test('events that an instance got before its workflow was registered come before one that it gets right after', async () => {
  const flow = defineWorkflow('flow', async (ctx, count: number) => {
    const seen: unknown[] = [];
    while (seen.length < count) seen.push(await ctx.waitForEvent('go'));
    return seen;
  });
  await using world = await workflowWorld(({ workflows }) => workflows.register(flow));
  await world.run('flow', 1_000, 'a');
  await world.run('flow', 2, 'b');
  await world.restart(() => undefined);
  const { workflows } = world.sidecar;
  // The events for the first instance fill a page of what is read: those for the other one come later.
  for (let count = 0; count < 300; count++) await workflows.raiseEvent('a', 'go', count);
  await workflows.raiseEvent('b', 'go', 1);
  await world.clock.settled();
  workflows.register(flow);
  await workflows.raiseEvent('b', 'go', 2);
  expect(await world.settle('b')).toMatchObject({ status: 'COMPLETED', output: [1, 2] });
});

describe('missingCodeTimeout', () => {
  const limited = (missingCodeTimeout: number) => ({ workflows: { missingCodeTimeout } });
  const failed = (name: string) => ({ status: 'FAILED', failure: { message: expect.stringContaining(name) } });

  test('after it the activity fails, with its name and the time; what comes later fails at once', async () => {
    await using world = await workflowWorld(
      ({ workflows }) => workflows.register(defineWorkflow('lost', (ctx) => ctx.callActivity('charge'))),
      limited(60_000),
    );
    await world.run('lost');
    expect(await world.pass('59s')).toMatchObject(WAITING);
    const message = 'activity "charge" is not registered, and was not within 60000 ms';
    expect(await world.pass('1s')).toMatchObject(failed(message));
    expect(await world.run('lost', undefined, 'two')).toMatchObject(failed(message));
    world.sidecar.workflows.register(charge);
    expect(await world.run('lost', undefined, 'three')).toMatchObject({ status: 'COMPLETED' });
  });

  test('registered in time, nothing fails, and the time begins anew', async () => {
    await using world = await workflowWorld(lacking, limited(60_000));
    await world.run('shop', 'a');
    await world.pass('59s');
    const fake = world.sidecar.workflows.replaceActivity(charge, () => 'in time');
    expect(await world.settle()).toMatchObject({ status: 'COMPLETED', output: 'in time' });
    fake.close();
    await world.run('shop', 'b', 'two');
    expect(await world.pass('59s', 'two')).toMatchObject(WAITING);
  });

  test('a child whose workflow does not come fails, and with it the call of its parent', async () => {
    await using world = await workflowWorld(({ workflows }) => workflows.register(parent), limited(60_000));
    await world.run('parent', 'a');
    expect(await world.pass('1m', 'kid')).toMatchObject(failed('workflow "shop" is not registered'));
    expect(await world.settle()).toMatchObject(failed('workflow "shop" is not registered'));
  });

  test('an instance of the life before fails with its history', async () => {
    const sleeping = defineWorkflow('sleeping', (ctx) => ctx.sleep('1h'));
    await using world = await workflowWorld(({ workflows }) => workflows.register(sleeping), limited(60_000));
    await world.run('sleeping');
    await world.restart(() => undefined, '2h');
    expect(await world.pass('1m')).toMatchObject(failed('workflow "sleeping" is not registered'));
    expect(await typesOf(world)).toEqual(['started', 'timerCreated']);
  });

  test('0: nothing is waited for', async () => {
    await using world = await workflowWorld(
      ({ workflows }) =>
        workflows.register(
          parent,
          defineWorkflow('lost', (ctx) => ctx.callActivity('charge')),
        ),
      limited(0),
    );
    expect(await world.run('lost')).toMatchObject(failed('activity "charge" is not registered'));
    expect(await world.run('parent', 'a', 'two')).toMatchObject(failed('workflow "shop" is not registered'));
  });

  test('must be milliseconds', () => {
    expect(() => new Sidecar({ appId: 'shop', ...limited(-1) })).toThrow(/missingCodeTimeout/);
  });
});

test('on disk: a deploy lacks the activity, the next one has it', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-missing-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const deploy = async (register: (sidecar: Sidecar) => void, work: (sidecar: Sidecar) => Promise<void>) => {
    const sidecar = new Sidecar({ appId: 'shop', state: embeddedState({ path }), logger: new RecordingLogger() });
    register(sidecar);
    await sidecar.start();
    await work(sidecar);
    await sidecar.stop();
  };
  const stateOf = async ({ workflows }: Sidecar): Promise<WorkflowState | undefined> => workflows.get('one');
  await deploy(lacking, async (sidecar) => {
    await sidecar.workflows.start(shop, 'a', { instanceId: 'one' });
    await expect.poll(() => stateOf(sidecar)).toMatchObject(WAITING);
  });
  await deploy(whole, async ({ workflows }) => {
    expect(await workflows.run('one').ended({ timeout: 5_000 })).toMatchObject({ output: 'charged a' });
  });
});
