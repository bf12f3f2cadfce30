import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defineActivity, defineWorkflow, nodeHandler, Sidecar } from '../../src/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PATIENCE, runHere, temporaryDirectory } from './cli.ts';
import { stubInspector } from './stub-inspector.ts';

const TOKEN = 'open-sesame-open-sesame';

/** What a test can change. */
interface Bank {
  isOpen: boolean;
}

/** An application that mounts an inspector, and the command against it. */
async function openApp(bank: Bank = { isOpen: true }) {
  const charge = defineActivity('charge', (order: { id: number }) => {
    if (!bank.isOpen) throw new Error('the bank\u001b[2J is closed');
    return `receipt ${order.id}`;
  });
  const checkout = defineWorkflow('checkout', (context, order: { id: number }) => context.callActivity(charge, order));
  const approval = defineWorkflow('approval', async (context) => {
    context.setCustomStatus('waits for the boss');
    return context.waitForEvent<string>('approved');
  });
  const sidecar = new Sidecar({ appId: 'shop', logger: new RecordingLogger() });
  sidecar.workflows.register(charge, checkout, approval);
  await sidecar.start();
  const server = await listen(nodeHandler(inspect(sidecar, { token: TOKEN }), { prefix: '/inspector' }));
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await sidecar.stop();
  });
  const url = `${server.url}/inspector`;
  const environment = { INSIDECAR_INSPECT_TOKEN: TOKEN };
  const run = (...args: readonly string[]): ReturnType<typeof runHere> =>
    runHere(['workflows', ...args, '--url', url], environment);
  const status = async (instanceId: string): Promise<string | undefined> =>
    (await sidecar.workflows.get(instanceId))?.status;
  return { sidecar, run, status, url, environment };
}

test('workflows are listed, shown with their history, paused, resumed, given events, terminated', async () => {
  const { sidecar, run, status } = await openApp();
  const { workflows } = sidecar;
  for (const id of ['a-1', 'a-2', 'b-1']) await workflows.start('approval', undefined, { instanceId: id });
  await workflows.start('checkout', { id: 7 }, { instanceId: 'c-1' });
  await workflows.run('c-1').ended();
  await expect.poll(() => status('b-1'), PATIENCE).toBe('RUNNING');

  const all = await run();
  expect(all.stdout).toMatch(/^ID +NAME +STATUS +STARTED +TOOK +MORE$/m);
  expect(all.stdout).toMatch(/^c-1 +checkout +COMPLETED +\d+m?s ago +\d+ms$/m);
  expect(all.stdout).toMatch(/^a-1 +approval +RUNNING .* waits for the boss$/m);
  const ids = async (...args: readonly string[]): Promise<string[]> => {
    const { instances } = JSON.parse((await run('list', '--json', ...args)).stdout) as {
      instances: { instanceId: string }[];
    };
    return instances.map(({ instanceId }) => instanceId);
  };
  expect(await ids()).toEqual(['c-1', 'b-1', 'a-2', 'a-1']);
  expect(await ids('--oldest-first', '--limit', '2')).toEqual(['a-1', 'a-2']);
  expect(await ids('--status', 'completed')).toEqual(['c-1']);
  expect(await ids('--name', 'approval', '--prefix', 'a-')).toEqual(['a-2', 'a-1']);
  expect(await ids('--since', '2999-01-01')).toEqual([]);
  expect(await ids('--parent', 'nobody')).toEqual([]);

  await workflows.raiseEvent('a-1', 'aproved');
  const waiting = await run('show', 'a-1');
  expect(waiting.stdout).toMatch(/^events +waits for event approved$/m);
  expect(waiting.stdout).toMatch(/^unread events +aproved$/m);

  const shown = await run('show', 'c-1');
  expect(shown.stdout).toMatch(/^status +COMPLETED$/m);
  expect(shown.stdout).toMatch(/^input +\{"id":7\}$/m);
  expect(shown.stdout).toMatch(/^output +"receipt 7"$/m);
  const history = await run('history', 'c-1');
  expect(history.stdout).toMatch(/\d +activityScheduled +charge/);
  expect(history.stdout).toMatch(/activityCompleted .*"receipt 7"$/m);

  expect((await run('pause', 'a-1')).stdout).toBe('workflow a-1 is paused\n');
  await expect.poll(() => status('a-1'), PATIENCE).toBe('SUSPENDED');
  expect((await run('resume', 'a-1')).stdout).toBe('workflow a-1 is resumed\n');
  await expect.poll(() => status('a-1'), PATIENCE).toBe('RUNNING');
  const file = join(await temporaryDirectory(), 'data.json');
  await writeFile(file, '"by the boss"');
  const other = join(await temporaryDirectory(), 'latin1.json');
  await writeFile(other, '"M\u00fcller"', 'latin1');
  expect(await run('raise-event', 'a-1', 'approved', '--data', `@${other}`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${JSON.stringify(other)} is not text in UTF-8`),
  });
  const raised = await run('raise-event', 'a-1', 'approved', '--data', `@${file}`);
  expect(raised.stdout).toBe('event approved was given to workflow a-1\n');
  expect((await workflows.run('a-1').ended()).output).toBe('by the boss');
  expect((await run('terminate', 'a-2', '--output', '"too late"')).stdout).toBe('workflow a-2 is terminated\n');
  expect((await workflows.run('a-2').ended()).output).toBe('too late');
  expect((await run('purge', 'a-2')).stdout).toBe('workflow a-2 is removed\n');
  expect(await status('a-2')).toBeUndefined();
});

test('what failed is run again from the failure; control characters do not reach the terminal', async () => {
  const bank = { isOpen: false };
  const { sidecar, run } = await openApp(bank);
  const { workflows } = sidecar;
  await workflows.start('checkout', { id: 1 }, { instanceId: 'c-1' });
  await workflows.run('c-1').ended();
  for (const args of [['list'], ['show', 'c-1'], ['history', 'c-1'], ['show', 'c-1', '--json']]) {
    const { stdout } = await run(...args);
    expect(stdout).toContain('the bank\\u001b[2J is closed');
    expect(stdout).not.toContain('\u001b');
  }
  bank.isOpen = true;
  const rerun = await run('rerun', 'c-1', '--from', 'failure', '--new-id', 'c-2');
  expect(rerun.stdout).toBe('workflow c-1 runs again as c-2\n');
  expect((await workflows.run('c-2').ended()).output).toBe('receipt 1');
  expect((await run('rerun', 'c-1', '--input', '{"id":3}', '--new-id', 'c-3')).code).toBe(0);
  expect((await workflows.run('c-3').ended()).output).toBe('receipt 3');
});

test('a workflow is started, with an input and an ID or without', async () => {
  const { sidecar, run } = await openApp();
  expect(await run('start', 'checkout', '--input', '{"id":9}', '--id', 'c-9')).toMatchObject({
    code: 0,
    stdout: 'workflow checkout starts as c-9\n',
  });
  expect((await sidecar.workflows.run('c-9').ended()).output).toBe('receipt 9');
  const { instanceId } = JSON.parse((await run('start', 'approval', '--json')).stdout) as { instanceId: string };
  expect((await sidecar.workflows.get(instanceId))?.name).toBe('approval');
  expect(await run('start', 'checkout', '--input', '{id:9}')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--input must be JSON'),
  });
  expect((await run('start', 'checkout', '--id', 'c-9')).code).toBe(1);
});

test('a job is scheduled once, kept, replaced, refused', async () => {
  const { sidecar, url, environment } = await openApp();
  const schedule = (...args: readonly string[]): ReturnType<typeof runHere> =>
    runHere(['jobs', 'schedule', 'report', ...args, '--url', url], environment);
  const data = ['--data', '{"to":"board"}'];
  const done = await schedule('--schedule', '@daily', '--due', '2h', '--repeats', '3', '--ttl', '240h', ...data);
  expect(done).toMatchObject({ code: 0, stdout: 'job "report" is scheduled\n' });
  expect(await sidecar.jobs.get('report')).toMatchObject({ schedule: '@daily', repeats: 3, data: { to: 'board' } });
  expect((await schedule('--due', '3h')).code).toBe(1);
  const kept = await schedule('--due', '3h', '--if-exists', 'keep', '--json');
  expect(JSON.parse(kept.stdout)).toEqual({ changed: false });
  expect((await schedule('--due', '3h', '--if-exists', 'replace')).code).toBe(0);
  expect((await sidecar.jobs.get('report'))?.schedule).toBeUndefined();
  expect(await schedule()).toMatchObject({ code: 2, stderr: expect.stringContaining('when? Expected --schedule') });
});

test('many at once: terminated, run again, removed; asked first, or with --yes', async () => {
  const bank = { isOpen: false };
  const { sidecar, run, url, environment } = await openApp(bank);
  const { workflows } = sidecar;
  for (const id of ['a-1', 'a-2', 'b-1']) await workflows.start('approval', undefined, { instanceId: id });
  for (const id of [1, 2]) await workflows.start('checkout', { id }, { instanceId: `c-${id}` });
  for (const id of [1, 2]) await workflows.run(`c-${id}`).ended();

  expect(await run('terminate', '--all', '--prefix', 'a-')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'Terminate all workflows of shop that are not over, with IDs from a-? Say so with --yes',
    ),
  });
  const asked: string[] = [];
  const answer = (isYes: boolean) => async (question: string) => {
    asked.push(question);
    return isYes;
  };
  const terminate = ['workflows', 'terminate', '--all', '--prefix', 'a-', '--url', url];
  expect(await runHere(terminate, environment, { confirm: answer(false) })).toMatchObject({
    code: 1,
    stderr: `shop at ${url}/\ninsidecar: nothing was changed\n`,
  });
  expect((await runHere(terminate, environment, { confirm: answer(true) })).stdout).toBe('2 workflows terminated\n');
  expect(asked).toHaveLength(2);
  expect((await workflows.run('a-1').ended()).status).toBe('TERMINATED');

  await workflows.start('approval', undefined, { instanceId: 'd-1' });
  expect((await run('cancel', 'd-1')).stdout).toBe('workflow d-1 is being canceled\n');
  expect((await workflows.run('d-1').ended()).status).toBe('CANCELED');
  expect((await run('history', 'd-1')).stdout).toContain('cancelRequested');
  expect((await run('list', '--status', 'canceled')).stdout).toMatch(/d-1 +approval +CANCELED/);

  bank.isOpen = true;
  expect((await run('rerun', '--all', '--status', 'FAILED', '--from', 'failure')).stdout).toBe(
    '2 workflows run again\n',
  );
  await expect
    .poll(async () => (await workflows.listPage({ name: 'checkout', status: 'COMPLETED' })).instances, PATIENCE)
    .toHaveLength(2);
  const purged = await run('purge', '--all', '--status', 'failed,terminated', '--yes', '--json');
  expect(JSON.parse(purged.stdout)).toMatchObject({ done: 4, failed: [], hasMore: false });
  expect((await workflows.listPage({ status: 'RUNNING' })).instances.map((one) => one.instanceId)).toEqual(['b-1']);
});

test('each is terminated once, also those that another host has not ended yet; all failures are counted', async () => {
  const ids = Array.from({ length: 1_001 }, (_, at) => `w-${String(at).padStart(4, '0')}`);
  const asked: string[] = [];
  let calls = 0;
  const url = await stubInspector(({ path, query, body }) => {
    if (++calls > 10) return new Error('there is no end');
    if (path === 'workflows') {
      expect(query.get('status')).toBe('PENDING,RUNNING,SUSPENDED');
      const from = Number(query.get('cursor') ?? 0);
      const instances = ids.slice(from, from + 1_000).map((instanceId) => ({ instanceId, status: 'RUNNING' }));
      return { instances, ...(from + 1_000 < ids.length ? { cursor: String(from + 1_000) } : {}) };
    }
    const { instanceIds = ids.slice(0, 1_000) } = body as { readonly instanceIds?: readonly string[] };
    asked.push(...instanceIds);
    const failed = instanceIds.filter((id) => id < 'w-0150').map((instanceId) => ({ instanceId, reason: 'no' }));
    const hasMore = 'filter' in (body as object);
    return { done: instanceIds.length - failed.length, failed: failed.slice(0, 100), hasMore };
  });
  const ended = await runHere(['workflows', 'terminate', '--all', '--yes', '--url', url]);
  expect(ended).toMatchObject({ code: 1, stdout: '851 workflows terminated\n' });
  expect(ended.stderr).toContain('150 workflows could not be terminated');
  expect(ended.stderr.match(/: no$/gm)).toHaveLength(100);
  expect(asked).toEqual(ids);
});

test.each([
  [['show', 'nothing'], 1, 'nothing'],
  [['list', '--status', 'FAILD'], 2, 'actual is "FAILD"; did you mean "FAILED"?'],
  [['list', '--since', 'yesterday'], 2, '--since must be a time such as 2h, 7d or 2026-08-04T02:00Z: actual is "yest'],
  [['raise-event', 'x', 'y', '--data', '{'], 2, '--data must be JSON'],
  [['rerun', 'x', '--from', 'there'], 2, '--from must be start, failure or a number of the history: actual is "there"'],
  [['rerun', '--all', '--from', '3'], 2, '--from with a number goes with one ID'],
  [['terminate'], 2, 'which one? Expected an ID, or --all'],
  [['terminate', 'x', '--all', '--yes'], 2, 'an ID does not go with --all'],
  [['list', '--app-id', 'shp'], 1, 'there is no application "shp"; did you mean "shop"?'],
])('%j is refused', async (args, code, message) => {
  const { run } = await openApp();
  const refused = await run(...args);
  expect(refused.stderr).toContain(message);
  expect(refused).toMatchObject({ code, stdout: '' });
});
