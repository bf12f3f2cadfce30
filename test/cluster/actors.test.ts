import { expect, test } from 'vitest';
import { type ActorSidecar, ActorSidecars } from '../support/actor-sidecars.ts';
import type { ActorAnswer } from '../support/actors-world.ts';
import type { Answer, Sent } from '../support/http.ts';

const IDS = Array.from({ length: 32 }, (_, index) => `cart-${index}`);

const statuses = (answers: readonly Answer[]): readonly number[] => [...new Set(answers.map(({ status }) => status))];
const callAll = (host: ActorSidecar, method = 'm'): Promise<Answer[]> =>
  Promise.all(IDS.map((id) => host.call(`Cart/${id}/method/${method}`)));

test('each actor lives at one host, whichever is asked', async () => {
  await using hosts = new ActorSidecars();
  const [a, b] = [await hosts.join(), await hosts.join()];
  await hosts.pass(10);
  expect(statuses(await hosts.passing(callAll(a)))).toEqual([200]);
  expect(statuses(await hosts.passing(callAll(b)))).toEqual([200]);
  expect(a.actors.size + b.actors.size).toBe(IDS.length);
  expect(Math.min(a.actors.size, b.actors.size)).toBeGreaterThan(5);
  expect(a.app.of('PUT')).toHaveLength(2 * a.actors.size);
  const [there = ''] = b.actors;
  b.app.answer = () => ({ status: 500, body: 'why' });
  const failed = await hosts.passing(a.call(`Cart/${there}/method/m?x=1`, { body: 'text', headers: { 'x-own': '1' } }));
  expect(failed.error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
  expect(failed.text).toContain('500 why');
  expect(b.app.requests.at(-1)).toMatchObject({ path: `/actors/Cart/${there}/method/m?x=1`, body: 'text' });
  expect(b.app.requests.at(-1)?.headers).toMatchObject({ 'x-own': '1', 'sidecar-caller-app-id': 'shop' });
  const write = [{ operation: 'upsert', request: { key: 'k', value: 1 } }];
  expect((await a.call(`Cart/${there}/state`, { body: write })).error).toEqual([400, 'ERR_ACTOR_INSTANCE_MISSING']);
  expect((await b.call(`Cart/${there}/state`, { body: write })).status).toBe(204);
  expect((await a.call(`Cart/${there}/state/k`, {}, 'GET')).text).toBe('1');
});

test.each(['sidecar', 'dapr'] as const)('%s: a call has the same answer at each host', async (wire) => {
  await using hosts = new ActorSidecars();
  const reentrancy = { enabled: true, maxStackDepth: 1 };
  const configuration = { entities: ['Cart', 'Deep'], entitiesConfig: [{ entities: ['Deep'], reentrancy }] };
  const options = { wire, configuration, bodyLimitBytes: 10_000 };
  const [a, b] = [await hosts.join(options), await hosts.join(options)];
  await hosts.pass(10);
  const candidates = Array.from({ length: 16 }, (_, index) => [`Cart/${index}%2B`, `Deep/${index}%25`]).flat();
  await hosts.passing(Promise.all(candidates.map((actor) => a.call(`${actor}/method/m`))));
  // One of each type at each host.
  const actors = ['Cart', 'Deep'].flatMap((type) =>
    [a, b].map(({ app }) => {
      const path = app.requests.find((request) => request.path.startsWith(`/actors/${type}/`))?.path ?? '';
      return path.split('/').slice(2, 4).join('/');
    }),
  );
  const errorHeader = wire === 'dapr' ? 'X-DaprErrorResponseHeader' : 'X-SidecarErrorResponseHeader';
  const answers: Record<string, ActorAnswer> = {
    created: { status: 201, headers: { 'content-type': 'text/plain', 'x-own': '1' }, body: 'made' },
    none: { status: 204 },
    moved: { status: 302, headers: { location: '/elsewhere' } },
    missing: { status: 404, body: 'no such method' },
    failing: { status: 503, headers: { 'retry-after': '7' }, body: { reason: 'x' } },
    own: { headers: { [errorHeader]: 'true', 'content-type': 'application/json' }, body: { own: 'error' } },
    'a/b': { body: 'nested' },
    long: { body: 'x'.repeat(10_001) },
  };
  const seen: Record<string, unknown>[] = [];
  for (const { app } of [a, b])
    app.answer = ({ path, headers, body }) => {
      const { host: _host, connection: _connection, traceparent: _trace, ...own } = headers;
      const chain = `${wire}-reentrancy-id`;
      seen.push({ path, body, headers: { ...own, ...(own[chain] === undefined ? {} : { [chain]: 'one' }) } });
      return answers[decodeURIComponent(path.split('?')[0]?.split('/method/')[1] ?? '')];
    };
  const headers = {
    ...{ 'content-type': 'text/x', 'x-own': 'ü', 'sidecar-caller-app-id': 'evil', 'dapr-caller-app-id': 'evil' },
    ...{ 'dapr-api-call': 'evil', connection: 'x-hop', 'x-hop': '1', expect: '' },
  };
  const requests: readonly (readonly [method: string, path: string, sent?: Sent])[] = [
    ...Object.keys(answers).map((name) => ['POST', `method/${encodeURIComponent(name)}`] as const),
    ['GET', 'method/m?x=a+b&y=%2F'],
    ['DELETE', 'method/m%20%C3%BC%25', { body: 'bytes', headers }],
    ['PUT', 'method/m', { body: 'x'.repeat(10_001) }],
    ['POST', 'method/remind%2Fx'],
    ['POST', 'method/m%23'],
    ['PUT', 'timers/t', { body: { dueTime: '1h' } }],
    ['PUT', 'timers/t', { body: { dueTime: 'soon' } }],
    ['DELETE', 'timers/t'],
    ['PUT', 'reminders/r', { body: { dueTime: '1h', data: { n: 1 } } }],
    ['GET', 'reminders/r'],
    ['PUT', 'reminders/r', { body: { overwrite: false } }],
    ['DELETE', 'reminders/r'],
    ['GET', 'reminders/r'],
  ];
  for (const actor of actors)
    for (const [method, path, sent] of requests) {
      const before = seen.length;
      const [one, two] = [
        await hosts.passing(a.call(`${actor}/${path}`, sent, method)),
        await hosts.passing(b.call(`${actor}/${path}`, sent, method)),
      ].map(({ status, text, headers: { date: _date, ...rest } }) => ({ status, text, rest }));
      expect(two, `${method} ${actor}/${path}`).toEqual(one);
      const [first, second] = seen.slice(before);
      expect(second, `${method} ${actor}/${path}`).toEqual(first);
    }
});

test('an actor that moves is deactivated before its first call at the new host, and no call fails', async () => {
  await using hosts = new ActorSidecars();
  const a = await hosts.join();
  await hosts.pass(5);
  expect(statuses(await callAll(a))).toEqual([200]);
  const b = await hosts.join();
  const answers = await hosts.passing(Promise.all([callAll(a, 'again'), callAll(b, 'again')]));
  await hosts.pass(10);
  answers.push(...(await hosts.passing(Promise.all([callAll(a, 'end'), callAll(b, 'end')]))));
  expect(statuses(answers.flat())).toEqual([200]);
  expect(b.actors.size).toBeGreaterThan(5);
  for (const id of b.actors) {
    const events = hosts.log.filter((line) => line.endsWith(` ${id}`));
    const first = events.findIndex((line) => line.startsWith('1 PUT'));
    expect(events.slice(0, first).filter((line) => line.startsWith('0 DELETE'))).toHaveLength(1);
    expect(events.slice(first).some((line) => line.startsWith('0 PUT'))).toBe(false);
  }
});

test('a host that stops lets its turns end; calls meanwhile go to the others', async () => {
  await using hosts = new ActorSidecars();
  const [a, b] = [await hosts.join(), await hosts.join()];
  await hosts.pass(10);
  await hosts.passing(callAll(a));
  const [there = ''] = b.actors;
  let give = (): void => undefined;
  b.app.answer = ({ method }) => (method === 'PUT' ? new Promise((resolve) => (give = () => resolve({}))) : undefined);
  const inFlight = a.call(`Cart/${there}/method/slow`);
  await expect.poll(() => b.app.requests.at(-1)?.path).toContain('slow');
  const left = hosts.leave(b);
  const later = callAll(a);
  give();
  expect((await inFlight).status).toBe(200);
  await left;
  expect(statuses(await hosts.passing(later))).toEqual([200]);
  expect(a.actors.size).toBe(IDS.length);
});

test('a host that is thought dead writes nothing for its actors any more', async () => {
  await using hosts = new ActorSidecars();
  const [a, b] = [await hosts.join(), await hosts.join()];
  await hosts.pass(10);
  await hosts.passing(callAll(a));
  const [there = ''] = b.actors;
  b.store.pause();
  await hosts.pass(20, [a]);
  expect((await hosts.passing(a.call(`Cart/${there}/method/m`), [a])).status).toBe(200);
  const write = (value: number): object[] => [{ operation: 'upsert', request: { key: 'k', value } }];
  expect((await a.call(`Cart/${there}/state`, { body: write(1) })).status).toBe(204);
  const late = b.call(`Cart/${there}/state`, { body: write(2) });
  b.store.resume();
  expect((await late).status).toBeGreaterThanOrEqual(400);
  expect((await a.call(`Cart/${there}/state/k`, {}, 'GET')).text).toBe('1');
  await hosts.pass(10);
  expect(b.app.of('DELETE').some(({ path }) => path.endsWith(`/${there}`))).toBe(true);
});

test('a host that stood still while others had its actors begins with none of them, even if it gets them back', async () => {
  await using hosts = new ActorSidecars();
  const [a, b] = [await hosts.join(), await hosts.join()];
  await hosts.pass(10);
  await hosts.passing(callAll(a));
  const [there = ''] = b.actors;
  b.store.pause();
  await hosts.pass(20, [a]);
  expect((await hosts.passing(a.call(`Cart/${there}/method/m`), [a])).status).toBe(200);
  await hosts.leave(a);
  b.store.resume();
  expect(statuses(await hosts.passing(callAll(b)))).toEqual([200]);
  const events = hosts.log.filter((line) => line.endsWith(` ${there}`)).map((line) => line.replace(` ${there}`, ''));
  expect(events).toEqual(['1 PUT', '0 PUT', '0 DELETE', '1 DELETE', '1 PUT']);
});

test('without an identity a call to another host is refused with a reason', async () => {
  await using hosts = new ActorSidecars();
  const [a, b] = [await hosts.join({ identity: undefined }), await hosts.join({ identity: undefined })];
  await hosts.pass(10);
  const answers = await hosts.passing(callAll(a));
  expect(statuses(answers).toSorted()).toEqual([200, 500]);
  expect(answers.find(({ status }) => status === 500)?.text).toContain('need the option identity');
  expect(b.app.requests).toEqual([]);
});
