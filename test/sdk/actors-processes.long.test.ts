/**
 * Actors of the package `@dapr/dapr`, unmodified, over several processes: two of an application with its server, which
 * share a directory, and its client here, which asks one of them or the sidecar of another application.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ActorId, ActorProxyBuilder, CommunicationProtocolEnum, DaprClient } from '@dapr/dapr';
import { expect, onTestFinished, test } from 'vitest';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { nodeHandler, Sidecar } from '../../src/index.ts';
import { freePort, listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';

const PROGRAM = fileURLToPath(new URL('actors-server.mjs', import.meta.url));
const IDS = Array.from({ length: 24 }, (_, index) => `counter ${index}+50%`);
/** A host is considered dead 10 s after its last sign, at most 5 s old; a busy machine needs longer. */
const PATIENCE = { timeout: 60_000, interval: 100 };
const silent = {
  ...{ error: () => undefined, warn: () => undefined, info: () => undefined },
  ...{ verbose: () => undefined, debug: () => undefined },
};

interface Counting {
  add(amount: number): Promise<number>;
  where(): Promise<string>;
  begin(kind: 'timer' | 'reminder'): Promise<void>;
  end(kind: 'timer' | 'reminder'): Promise<void>;
}

// The names of the methods are all that the proxy needs of it.
class Counter {}

/** What the processes have said, in order. */
const events: string[] = [];
const eventsOf = (what: string, id: string): readonly string[] =>
  events.filter((line) => line.split(' ').slice(1).join(' ') === `${what} ${id}`);

async function joined(name: string, path: string): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const settings = { name, path, appPort: await freePort() };
  const child = spawn(process.execPath, [PROGRAM], {
    env: { ...process.env, NODE_V8_COVERAGE: '', NODE_OPTIONS: '', ACTORS_SERVER: JSON.stringify(settings) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return new Promise((resolve, reject) => {
    child.on('message', (message: string | { readonly port: number }) => {
      if (typeof message === 'string') events.push(message);
      else resolve({ child, port: message.port });
    });
    child.once('exit', (code) => reject(new Error(`process ${name} has ended with ${code}`)));
  });
}

function clientOf(port: number): DaprClient {
  const communicationProtocol = CommunicationProtocolEnum.HTTP;
  const client = new DaprClient({
    ...{ daprHost: '127.0.0.1', daprPort: String(port), communicationProtocol, logger: { service: silent } },
  });
  onTestFinished(() => client.stop());
  return client;
}

function proxyOf(client: DaprClient, id: string): Counting {
  // The cast is safe: the proxy sends the name of any method.
  return new ActorProxyBuilder<Counting>(Counter as never, client).build(new ActorId(id)) as unknown as Counting;
}

/** A client of another application, whose sidecar shares the directory. */
async function strangerOf(path: string): Promise<DaprClient> {
  const sidecar = new Sidecar({
    ...{ appId: 'caller', wire: 'dapr', state: embeddedState({ path }), logger: new RecordingLogger() },
    identity: { keys: [{ secret: 'a secret of the tests, of more than 32 bytes' }] },
  });
  await sidecar.start();
  const api = await listen(nodeHandler(sidecar));
  onTestFinished(async () => {
    await sidecar.stop();
    await api[Symbol.asyncDispose]();
  });
  return clientOf(api.port);
}

test('clients call the actors of two servers, which move when one stops or is killed, with their state and reminders', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-sdk-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const a = await joined('a', path);
  const here = clientOf(a.port);
  const counts = async (client: DaprClient): Promise<readonly number[]> =>
    Promise.all(IDS.map((id) => proxyOf(client, id).add(1)));
  const places = async (client: DaprClient): Promise<ReadonlyMap<string, string>> =>
    new Map(await Promise.all(IDS.map(async (id) => [id, await proxyOf(client, id).where()] as const)));
  expect(new Set(await counts(here))).toEqual(new Set([1]));

  // Calls go on while the second one comes, and each finds its actor.
  const b = await joined('b', path);
  let turns = 1;
  await expect
    .poll(async () => {
      turns++;
      expect(new Set(await counts(here))).toEqual(new Set([turns]));
      return new Set((await places(here)).values());
    }, PATIENCE)
    .toEqual(new Set(['a', 'b']));
  const stranger = await strangerOf(path);
  const there = clientOf(b.port);
  expect(new Set(await counts(there))).toEqual(new Set([turns + 1]));
  expect(new Set(await counts(stranger))).toEqual(new Set([turns + 2]));
  const at = await places(stranger);
  expect(await places(here)).toEqual(at);

  // Timers and reminders run where their actor is, whichever is asked.
  const [ofA = '', ofB = ''] = ['a', 'b'].map((name) => IDS.find((id) => at.get(id) === name));
  for (const [client, id, name] of [
    [here, ofB, 'b'],
    [there, ofA, 'a'],
    [stranger, ofB, 'b'],
  ] as const)
    for (const kind of ['timer', 'reminder'] as const) {
      const before = eventsOf(kind, id).length;
      await proxyOf(client, id).begin(kind);
      await expect.poll(() => eventsOf(kind, id).length, PATIENCE).toBeGreaterThan(before + 2);
      await proxyOf(client, id).end(kind);
      expect(eventsOf(kind, id).every((line) => line.startsWith(`${name} `))).toBe(true);
    }

  // One that stops has its actors deactivated, and the other one goes on with their state and reminders.
  await proxyOf(here, ofA).begin('reminder');
  const activeAtA = [...at].filter(([, name]) => name === 'a').map(([id]) => id);
  a.child.kill('SIGTERM');
  await once(a.child, 'exit');
  expect(new Set(await counts(there))).toEqual(new Set([turns + 3]));
  expect(new Set((await places(stranger)).values())).toEqual(new Set(['b']));
  for (const id of activeAtA) expect(eventsOf('inactive', id)).toContain(`a inactive ${id}`);
  await expect.poll(() => eventsOf('reminder', ofA), PATIENCE).toContain(`b reminder ${ofA}`);

  // One that is killed loses nothing that was acknowledged.
  const c = await joined('c', path);
  b.child.kill('SIGKILL');
  await once(b.child, 'exit');
  const again = clientOf(c.port);
  await expect.poll(() => counts(again).catch(() => []), PATIENCE).toHaveLength(IDS.length);
  for (const count of await counts(stranger)) expect(count).toBeGreaterThanOrEqual(turns + 5);
  await expect.poll(() => eventsOf('reminder', ofA), PATIENCE).toContain(`c reminder ${ofA}`);
}, 180_000);
