/** What becomes of actors, and of the calls for them, over their lives and those of their application. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { type ActorAnswer, ActorApp, type ActorsWorld, actorsWorld } from '../support/actors-world.ts';
import { freePort, listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { PausableStore } from '../support/pausable-store.ts';
import { until as untilOrTell, WIRES } from '../support/stores-world.ts';

const until = (holds: () => boolean): Promise<void> => untilOrTell(holds, () => String(holds));

const methodsOf = (world: ActorsWorld): readonly string[] =>
  world.app.requests.map(({ method, path }) => `${method} ${path.split('/').slice(3).join('/')}`);

/** Answers that the test gives one by one, in the order of the requests. */
class Answers {
  readonly #open: ((answer: ActorAnswer) => void)[] = [];
  readonly give = (answer: ActorAnswer = {}): void => this.#open.shift()?.(answer);
  readonly next = (): Promise<ActorAnswer> => new Promise((resolve) => this.#open.push(resolve));
  get waiting(): number {
    return this.#open.length;
  }
}

describe.each(WIRES)('wire %s', (wire) => {
  const configuration = { entities: ['Cart'], actorIdleTimeout: '10s' };

  test.each([200, 204, 404, 500])('%i to its DELETE: the actor is gone, and may come again', async (status) => {
    const answer: ActorApp['answer'] = ({ method }) => (method === 'DELETE' ? { status, body: 'unknown actor' } : {});
    await using world = await actorsWorld({ wire, configuration, answer });
    await world.call('Cart/a%20b/method/m');
    await world.pass('11s');
    expect(world.sidecar.actors.active()).toEqual([]);
    expect((await world.call('Cart/a%20b/method/m')).status).toBe(200);
    expect(methodsOf(world)).toEqual(['PUT a%20b/method/m', 'DELETE a%20b', 'PUT a%20b/method/m']);
    expect(world.logger.at('error')).toEqual([]);
  });

  test('calls that come while it is deactivated wait, and activate it again', async () => {
    const deletion = new Answers();
    await using world = await actorsWorld({ wire, configuration });
    world.app.answer = ({ method }) => (method === 'DELETE' ? deletion.next() : {});
    await world.call('Cart/a/method/first');
    await world.clock.advance('11s');
    await until(() => deletion.waiting === 1);
    const [one, two] = [world.call('Cart/a/method/one'), world.call('Cart/a/timers/t', { body: '{"dueTime":"1s"}' })];
    await setImmediate();
    expect((await world.call('Cart/b/method/other')).status).toBe(200);
    expect(methodsOf(world)).toEqual(['PUT a/method/first', 'DELETE a', 'PUT b/method/other']);
    deletion.give();
    await world.clock.advance('1s');
    expect([(await one).status, (await two).status]).toEqual([200, 204]);
    expect(methodsOf(world)).toContain('PUT a/method/one');
  });

  test('while it is deactivated it may still write, and take its reminders and timers away', async () => {
    const asked: number[] = [];
    await using world = await actorsWorld({ wire, configuration });
    world.app.answer = async ({ method }) => {
      if (method !== 'DELETE') return {};
      const body = [{ operation: 'upsert', request: { key: 'k', value: 'last' } }];
      asked.push((await world.call('Cart/a/state', { body })).status);
      asked.push((await world.call('Cart/a/reminders/r', {}, 'DELETE')).status);
      for (const timer of ['t', 'none']) asked.push((await world.call(`Cart/a/timers/${timer}`, {}, 'DELETE')).status);
      return {};
    };
    await world.call('Cart/a/method/m');
    for (const path of ['reminders/r', 'timers/t']) await world.call(`Cart/a/${path}`, { body: '{"dueTime":"1h"}' });
    await world.clock.advance('11s');
    await until(() => asked.length === 4);
    expect(asked).toEqual([204, 204, 204, 204]);
    await until(() => world.sidecar.actors.active().length === 0);
    expect((await world.call('Cart/a/state/k', {}, 'GET')).text).toBe('"last"');
    await world.pass('2h');
    expect(world.app.of('PUT')).toHaveLength(1);
  });

  test('the idle time counts from the end of the last call', async () => {
    const slow = new Answers();
    await using world = await actorsWorld({ wire, configuration });
    world.app.answer = ({ path }) => (path.endsWith('slow') ? slow.next() : {});
    const call = world.call('Cart/a/method/slow');
    await until(() => slow.waiting === 1);
    await world.clock.advance('9s');
    slow.give();
    await call;
    await world.pass('9s');
    expect(world.app.of('DELETE')).toEqual([]);
    await world.pass('2s');
    expect(world.app.of('DELETE')).toHaveLength(1);
  });

  test('reminders and timers keep it active, as calls do', async () => {
    await using world = await actorsWorld({ wire, configuration });
    await world.call('Cart/a/reminders/r', { body: '{"period":"9s","ttl":"50s"}' });
    await world.call('Cart/b/timers/t', { body: '{"period":"PT9S","ttl":"50s"}' });
    await world.pass('50s');
    expect(world.app.of('DELETE')).toEqual([]);
    await world.pass('20s');
    expect(world.app.of('DELETE')).toHaveLength(2);
  });

  test('a caller that goes away while its call waits: the call is not run', async () => {
    const first = new Answers();
    await using world = await actorsWorld({ wire });
    world.app.answer = ({ path }) => (path.endsWith('first') ? first.next() : {});
    const running = world.call('Cart/a/method/first');
    await until(() => first.waiting === 1);
    const leaving = new AbortController();
    const gone = fetch(`${world.server.url}/v1.0/actors/Cart/a/method/gone`, {
      ...{ method: 'POST', signal: leaving.signal },
    }).catch(() => 'gone');
    await until(() => world.sidecar.actors.active('Cart')[0]?.waiting === 1);
    leaving.abort();
    expect(await gone).toBe('gone');
    await until(() => world.sidecar.actors.active('Cart')[0]?.waiting === 0);
    first.give();
    await running;
    await world.call('Cart/a/method/last');
    expect(methodsOf(world)).toEqual(['PUT a/method/first', 'PUT a/method/last']);
  });

  test('a caller that goes away during its call leaves the turn to the application', async () => {
    const first = new Answers();
    await using world = await actorsWorld({ wire });
    world.app.answer = ({ path }) => (path.endsWith('first') ? first.next() : {});
    const leaving = new AbortController();
    const gone = fetch(`${world.server.url}/v1.0/actors/Cart/a/method/first`, {
      ...{ method: 'POST', signal: leaving.signal },
    }).catch(() => 'gone');
    await until(() => first.waiting === 1);
    leaving.abort();
    expect(await gone).toBe('gone');
    const next = world.call('Cart/a/method/next');
    await until(() => world.sidecar.actors.active('Cart')[0]?.waiting === 1);
    expect(methodsOf(world)).toEqual(['PUT a/method/first']);
    first.give();
    expect((await next).status).toBe(200);
  });

  test('a connection that breaks ends the turn, and the call fails', async () => {
    const { listener } = new ActorApp({ entities: ['Cart'] });
    await using server = await listen((req, res) => {
      if (req.url?.endsWith('breaks')) req.socket.destroy();
      else listener(req, res);
    });
    await using world = await actorsWorld({ wire, app: { port: server.port } });
    expect((await world.call('Cart/a/method/breaks')).error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
    expect((await world.call('Cart/a/method/m')).status).toBe(200);
  });

  test('an application that dies: calls fail at once, and when it is back its actors are new', async () => {
    const app = new ActorApp({ entities: ['Cart'] });
    const port = await freePort();
    let server = await listen(app.listener, port);
    await using world = await actorsWorld({ wire, app: { port } });
    await world.call('Cart/a/method/m');
    await world.call('Cart/a/timers/t', { body: '{"dueTime":"1h","period":"1h"}' });
    await server[Symbol.asyncDispose]();
    expect((await world.call('Cart/a/method/m')).error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
    expect((await world.call('Cart/b/method/m')).error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
    expect(
      (await world.call('Cart/a/reminders/r', { body: '{"dueTime":"1s","period":"1s","ttl":"10s"}' })).status,
    ).toBe(204);
    await world.clock.advance('4s');
    server = await listen(app.listener, port);
    await using _ = server;
    await expect
      .poll(async () => {
        await world.clock.advance('100ms');
        return app.requests.some(({ path }) => path.endsWith('/remind/r'));
      })
      .toBe(true);
    expect(app.of('DELETE')).toEqual([]);
    expect(app.questions).toHaveLength(2);
    const runs = (await world.sidecar.actors.reminders.get('Cart', 'a', 'r'))?.runs;
    expect(runs).toBeLessThanOrEqual(app.of('PUT').length - 1);
    await world.pass('2h');
    expect(app.of('PUT').filter(({ path }) => path.includes('/timer/'))).toEqual([]);
  });

  test('an application that is not healthy gets no call, and its reminders wait', async () => {
    let isHealthy = true;
    const app = new ActorApp({ entities: ['Cart'] });
    await using server = await listen((req, res) => {
      if (req.url === '/healthz') res.writeHead(isHealthy ? 200 : 500).end();
      else app.listener(req, res);
    });
    const health = { interval: '1s', timeout: '500ms', threshold: 1 } as const;
    await using world = await actorsWorld({ wire, app: { port: server.port, health } });
    await world.pass('2s');
    expect((await world.call('Cart/a/method/m')).status).toBe(200);
    isHealthy = false;
    await world.pass('3s');
    expect((await world.call('Cart/a/method/m')).error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
    await world.call('Cart/a/reminders/r', { body: '{}' });
    await world.pass('30s');
    expect(app.of('PUT')).toHaveLength(1);
    isHealthy = true;
    await world.pass('5s');
    expect(app.of('PUT').map(({ path }) => path)).toContain('/actors/Cart/a/method/remind/r');
  });

  test('the token of the application and the trace of the caller arrive; forged fields do not', async () => {
    await using world = await actorsWorld({ wire, appToken: 'of-the-app' });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const forged = {
      ...{ [`${wire}-api-token`]: 'forged', [`${wire}-caller-namespace`]: 'forged' },
      ...(wire === 'dapr' ? { 'dapr-api-call': 'forged' } : {}),
      ...{ [`${wire}-reentrancy-id`]: 'forged', [`x-${wire}remindercancel`]: 'true' },
    };
    await world.call('Cart/a/method/m', { headers: { traceparent, ...forged } });
    await world.call('Cart/a/reminders/r', { body: '{}' });
    await world.pass('1s');
    const [call, tick] = world.app.requests;
    expect(call?.headers).toMatchObject({ traceparent, [`${wire}-api-token`]: 'of-the-app' });
    expect(call?.headers[`${wire}-caller-namespace`]).toBe('default');
    expect(tick?.headers).toMatchObject({ [`${wire}-api-token`]: 'of-the-app', 'content-type': 'application/json' });
    expect(JSON.stringify(world.app.requests)).not.toContain('forged');
  });

  test('when the store fails, state says so, and calls go on', async () => {
    const store = new PausableStore(new MemoryStore({ clock: virtualClock(), logger: new RecordingLogger() }));
    await using world = await actorsWorld({ wire, state: store });
    await world.call('Cart/a/method/m');
    let isDown = true;
    store.holdsUp = () => (isDown ? Promise.reject(new Error('the disk is full')) : undefined);
    const body = [{ operation: 'upsert', request: { key: 'k', value: 1 } }];
    const write = await world.call('Cart/a/state', { body });
    expect(write.error).toEqual([500, 'ERR_ACTOR_STATE_TRANSACTION_SAVE']);
    expect((await world.call('Cart/a/reminders/r', { body: '{}' })).error).toEqual([500, 'ERR_ACTOR_REMINDER_CREATE']);
    expect((await world.call('Cart/a/timers/t', { body: '{}' })).status).toBe(204);
    expect((await world.call('Cart/a/method/m')).status).toBe(200);
    await world.pass('1s');
    expect(methodsOf(world)).toContain('PUT a/method/timer/t');
    isDown = false;
    expect((await world.call('Cart/a/state/k', {}, 'GET')).status).toBe(204);
    expect((await world.call('Cart/a/state', { body })).status).toBe(204);
  });
});
