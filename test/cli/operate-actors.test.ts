import { expect, onTestFinished, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { Actor, nodeHandler, Sidecar } from '../../src/index.ts';
import { inspect } from '../../src/inspector/index.ts';
import { listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PATIENCE, runHere, temporaryDirectory } from './cli.ts';

const TOKEN = 'open-sesame-open-sesame';
const seen: string[] = [];

class Cart extends Actor<{ items: string[] }> {
  add(item: string): void {
    this.state.items = [...(this.state.items ?? []), item];
    this.reminders.set('expire', { dueTime: '1h', period: '1h', data: { why: 'idle\u001b[2J' } });
  }

  override onReminder(name: string): void {
    seen.push(`${this.id} ${name}`);
  }
}

/** An application with actors that mounts an inspector, and the command against it. */
async function openApp() {
  const sidecar = new Sidecar({ appId: 'shop', logger: new RecordingLogger() });
  sidecar.actors.register(Cart);
  await sidecar.start();
  const server = await listen(nodeHandler(inspect(sidecar, { token: TOKEN }), { prefix: '/inspector' }));
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await sidecar.stop();
  });
  const environment = { INSIDECAR_INSPECT_TOKEN: TOKEN };
  const run = (...args: readonly string[]): ReturnType<typeof runHere> =>
    runHere(['actors', ...args, '--url', `${server.url}/inspector`], environment);
  return { sidecar, run };
}

test('actors are listed and shown; reminders are listed, shown, run and deleted', async () => {
  const { sidecar, run } = await openApp();
  seen.length = 0;
  expect((await run('reminders')).stderr).toContain('no reminders');
  expect((await run()).stderr).toContain('no active actors in this process');
  await sidecar.actors.get(Cart, 'alice').add('book');
  await sidecar.actors.get(Cart, 'bob').add('pen');

  expect((await run('types')).stdout).toMatch(/^TYPE +ACTIVE\nCart +2$/m);
  expect((await run()).stdout).toMatch(/^Cart +alice +0 +0$/m);
  const one = await run('list', '--limit', '1');
  expect([one.stdout.split('\n').length, one.stderr]).toEqual([3, expect.stringContaining('and 1 more')]);
  const shown = await run('show', 'Cart', 'alice');
  expect(shown.stdout).toMatch(/^active +0 calls, 0 waiting$/m);
  expect(shown.stdout).toMatch(/^reminders +expire, in (?:60m|1h)$/m);
  expect(shown.stdout).toMatch(/^state state +\{"items":\["book"\]\}$/m);

  expect((await run('reminders', '--type', 'Cart', '--id', 'bob')).stdout).toMatch(
    /^Cart +bob +expire +1h +in 60m +0/m,
  );
  const all = JSON.parse((await run('reminders', '--json')).stdout) as { reminders: { actorId: string }[] };
  expect(all.reminders.map(({ actorId }) => actorId)).toEqual(['alice', 'bob']);
  const reminder = await run('reminder', 'Cart', 'alice', 'expire');
  expect(reminder.stdout).toMatch(/^period +1h$/m);
  expect(reminder.stdout).not.toContain('\u001b');

  const ran = 'reminder "expire" of actor "alice" of type "Cart"';
  expect((await run('run', 'Cart', 'alice', 'expire')).stdout).toBe(`${ran} runs now\n`);
  await expect.poll(() => seen, PATIENCE).toEqual(['alice expire']);
  expect((await run('delete', 'Cart', 'alice', 'expire')).stdout).toBe(`${ran} is deleted\n`);
  expect(await run('delete', 'Cart', 'alice', 'expire')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`there is no ${ran}`),
  });
});

test('a stopped application: its state and reminders are shown, run and deleted', async () => {
  const path = await temporaryDirectory();
  const options = { appId: 'shop', state: embeddedState(path), logger: new RecordingLogger() };
  await using sidecar = new Sidecar(options);
  sidecar.actors.register(Cart);
  await sidecar.start();
  for (const id of ['alice', 'bob']) await sidecar.actors.get(Cart, id).add('book');
  await sidecar.stop();
  const run = (...args: readonly string[]): ReturnType<typeof runHere> =>
    runHere(['actors', ...args, '--state-path', path]);
  expect((await run('show', 'Cart', 'alice')).stdout).toMatch(/^active +not in this process$/m);
  expect((await run('reminders')).stdout).toMatch(/^Cart +bob +expire +1h/m);
  expect((await run('run', 'Cart', 'alice', 'expire')).stdout).toContain('runs as soon as the application runs');
  expect((await run('delete', 'Cart', 'bob', 'expire')).stdout).toContain('is deleted');

  seen.length = 0;
  await using again = new Sidecar({ ...options, state: embeddedState(path) });
  again.actors.register(Cart);
  await again.start();
  await expect.poll(() => seen, PATIENCE).toEqual(['alice expire']);
  expect(await again.actors.reminders.get('Cart', 'bob', 'expire')).toBeUndefined();
});

test('what cannot be is refused', async () => {
  const { run } = await openApp();
  expect(await run('reminders', '--id', 'a')).toMatchObject({ code: 2, stderr: expect.stringContaining('--id needs') });
  expect(await run('show', 'Cart')).toMatchObject({ code: 2, stderr: expect.stringContaining('show TYPE ID') });
  expect(await run('reminder', 'Cart', 'a', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no reminder "x" of actor "a" of type "Cart"'),
  });
  expect(await run('run', 'Cart', 'a/b', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the actor ID is "a/b": expected a name without /'),
  });
});
