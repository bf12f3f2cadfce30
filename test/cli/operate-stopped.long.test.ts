import { expect, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { defineJob, defineWorkflow, durablePubSub, Sidecar } from '../../src/index.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PATIENCE, runCli, runHere, temporaryDirectory } from './cli.ts';

/** Each starts several processes, which takes its time on a busy machine. */
const LONG = { timeout: 90_000 };

/** What the application did, in all its lives. */
interface Done {
  readonly orders: unknown[];
  readonly jobs: string[];
}

interface Life {
  readonly path: string;
  readonly done: Done;
  readonly appId?: string;
  /** Whether it takes orders. */
  readonly takesOrders: boolean;
}

/** One life of an application whose state is in a directory. */
async function live({ path, done, appId = 'shop', takesOrders }: Life): Promise<Sidecar> {
  const sidecar = new Sidecar({
    appId,
    state: embeddedState({ path }),
    components: [durablePubSub('events')],
    logger: new RecordingLogger(),
  });
  const wait = defineWorkflow('wait', async (context) => context.waitForEvent('go on'));
  sidecar.workflows.register(wait);
  sidecar.register(defineJob('*', (_, { name }) => void done.jobs.push(name)));
  await sidecar.start();
  await sidecar.pubsub.subscribe<number>(
    'events',
    'orders',
    ({ data }) => {
      if (!takesOrders) throw new Error('the bank does not answer');
      done.orders.push(data);
    },
    { deadLetterTopic: 'failed', retry: { maxRetries: 0 } },
  );
  return sidecar;
}

/** A directory with the state of a stopped application: three dead letters, two jobs, three workflows. */
async function stoppedShop(): Promise<{ path: string; done: Done }> {
  const path = await temporaryDirectory();
  const done = { orders: [], jobs: [] };
  const sidecar = await live({ path, done, takesOrders: false });
  for (const order of [1, 2, 3]) await sidecar.pubsub.publish('events', 'orders', order);
  for (const name of ['report', 'backup', 'cleanup']) await sidecar.jobs.schedule(name, { schedule: '@every 100h' });
  for (const instanceId of ['ended', 'goes-on', 'waits'])
    await sidecar.workflows.start('wait', undefined, { instanceId });
  const letters = async (): Promise<number> => (await sidecar.pubsub.queues.list({ topic: 'failed' }))[0]?.ready ?? 0;
  await expect.poll(letters, PATIENCE).toBe(3);
  await sidecar.stop();
  return { path, done };
}

/** Commands against a stopped application that must succeed: what they print. */
function commandsOf(path: string) {
  const said = ({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }): string => {
    expect({ code, stderr }).toEqual({ code: 0, stderr: `shop is stopped, state in ${path}\n` });
    return stdout;
  };
  return {
    /** In a process of its own. */
    run: async (...args: readonly string[]): Promise<string> => said(await runCli([...args, '--state-path', path])),
    /** In this process, which is faster. */
    here: async (...args: readonly string[]): Promise<string> => said(await runHere([...args, '--state-path', path])),
  };
}

test(
  'queues and dead letters of a stopped application are read and changed; nothing is delivered meanwhile',
  LONG,
  async () => {
    const { path, done } = await stoppedShop();
    const { run, here } = commandsOf(path);
    expect(await run('queues')).toMatch(/^failed\/shop +3 +0 +0 +0 .*dead letters$/m);
    expect(await here('queues', 'show', 'orders')).toMatch(/^component +events$/m);
    expect(await here('queues', 'messages', 'failed')).toMatch(/^\d+ +ready .* 2$/m);
    const { messages } = JSON.parse(await here('dead-letters', '--json')) as {
      messages: { key: string; payload: { value: string } }[];
    };
    // They came in any order.
    expect(messages.map(({ payload }) => payload.value).sort()).toEqual(['1', '2', '3']);
    expect(await here('dead-letters', 'show', messages[0]?.key ?? '')).toMatch(/^reason +the bank does not answer$/m);
    expect(await run('dead-letters', 'redeliver', messages[0]?.key ?? '', '--data', '10')).toBe(
      '1 dead letter redelivered: delivered when the application runs\n',
    );
    expect(await here('dead-letters', 'discard', messages[1]?.key ?? '')).toBe('1 dead letter discarded\n');
    expect(await here('queues', 'pause', 'failed')).toBe('failed/shop is paused\n');
    expect(await here('queues', 'resume', 'failed')).toBe('failed/shop is resumed\n');
    expect(await here('queues', 'add-group', 'orders/shop/audit')).toBe('orders/shop/audit was added\n');
    expect(await here('queues', 'remove-group', 'orders/shop/audit', '--yes')).toBe('orders/shop/audit was removed\n');
    expect(await run('queues', 'purge', 'failed', '--yes')).toBe('1 message removed from failed/shop\n');
    expect(done.orders).toEqual([]);

    const sidecar = await live({ path, done, takesOrders: true });
    await expect.poll(() => done.orders, PATIENCE).toEqual([10]);
    expect((await sidecar.pubsub.queues.list({ topic: 'failed' }))[0]).toMatchObject({ ready: 0, isPaused: false });
    await sidecar.stop();
  },
);

test('jobs of a stopped application are changed, and none runs meanwhile', LONG, async () => {
  const { path, done } = await stoppedShop();
  const { run, here } = commandsOf(path);
  expect(await run('jobs')).toMatch(/^report +@every 100h +in \d+d +0 +active$/m);
  expect(await here('jobs', 'show', 'report')).toMatch(/^schedule +@every 100h$/m);
  expect(await run('jobs', 'run', 'report')).toBe('job "report" runs as soon as the application runs\n');
  expect(await here('jobs', 'pause', 'backup')).toBe('job "backup" is paused\n');
  expect(await here('jobs', 'schedule', 'once', '--due', '100h')).toBe(
    'job "once" is scheduled: it runs when the application does\n',
  );
  expect(await here('jobs', 'delete', 'cleanup')).toBe('job "cleanup" is deleted\n');
  expect(done.jobs).toEqual([]);

  const sidecar = await live({ path, done, takesOrders: true });
  await expect.poll(() => done.jobs, PATIENCE).toEqual(['report']);
  expect((await sidecar.jobs.listPage()).jobs.map(({ name, isPaused }) => ({ name, isPaused }))).toEqual([
    { name: 'backup', isPaused: true },
    { name: 'once', isPaused: false },
    { name: 'report', isPaused: false },
  ]);
  await sidecar.stop();
});

test('workflows of a stopped application are changed, and go on when it runs', LONG, async () => {
  const { path, done } = await stoppedShop();
  const { run, here } = commandsOf(path);
  expect(await run('workflows')).toMatch(/^waits +wait +RUNNING/m);
  expect(await here('workflows', 'show', 'waits')).toMatch(/^name +wait$/m);
  expect(await here('workflows', 'history', 'waits')).toMatch(/started/);
  expect(await run('workflows', 'terminate', 'ended')).toBe('workflow ended is terminated\n');
  expect(await here('workflows', 'rerun', 'ended', '--new-id', 'again')).toMatch(/^workflow ended runs again as again/);
  expect(await here('workflows', 'start', 'wait', '--id', 'new')).toBe(
    'workflow wait starts as new as soon as the application runs\n',
  );
  expect(await here('workflows', 'purge', '--all', '--status', 'TERMINATED', '--yes')).toBe('1 workflow removed\n');
  expect(await here('workflows', 'pause', 'waits')).toBe('workflow waits is paused as soon as the application runs\n');
  expect(await here('workflows', 'raise-event', 'goes-on', 'go on', '--data', '1')).toMatch(/^event go on was given/);

  const sidecar = await live({ path, done, takesOrders: true });
  const statuses = async (): Promise<unknown> =>
    Object.fromEntries((await sidecar.workflows.listPage()).instances.map((one) => [one.instanceId, one.status]));
  await expect
    .poll(statuses, PATIENCE)
    .toEqual({ again: 'RUNNING', 'goes-on': 'COMPLETED', new: 'RUNNING', waits: 'SUSPENDED' });
  await sidecar.stop();
});

test('a directory that a process has open is refused, and left alone', LONG, async () => {
  const path = await temporaryDirectory();
  const sidecar = await live({ path, done: { orders: [], jobs: [] }, takesOrders: true });
  const { code, stdout, stderr } = await runCli(['queues', '--state-path', path]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    new RegExp(`^insidecar: The state directory .* is in use by process ${process.pid} .*; or leave out --state-path`),
  );
  expect(sidecar.health.state().isReady).toBe(true);
  await sidecar.stop();
});

test('of several applications in a directory, --app-id says which', LONG, async () => {
  const path = await temporaryDirectory();
  for (const appId of ['shop', 'warehouse']) {
    const sidecar = await live({ path, done: { orders: [], jobs: [] }, appId, takesOrders: true });
    await sidecar.jobs.schedule(`${appId}-report`, { schedule: '@daily' });
    await sidecar.stop();
  }
  const run = (...args: readonly string[]): ReturnType<typeof runHere> =>
    runHere(['jobs', '--state-path', path, ...args]);
  expect(await run()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('say which with --app-id, one of shop, warehouse'),
  });
  expect((await run('--app-id', 'warehouse')).stdout).toMatch(/^warehouse-report +@daily/m);
  expect(await run('--app-id', 'store')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is nothing of "store" in'),
  });
});
