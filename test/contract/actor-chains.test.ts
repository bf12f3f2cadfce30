/** Reentrancy: calls of a chain, over one actor and several. */
import { describe, expect, test } from 'vitest';
import { type ActorAnswer, type ActorRequest, type ActorsWorld, actorsWorld } from '../support/actors-world.ts';
import type { Answer } from '../support/http.ts';
import { until as untilOrTell, WIRES } from '../support/stores-world.ts';

const until = (holds: () => boolean): Promise<void> => untilOrTell(holds, () => String(holds));

describe.each(WIRES)('reentrancy, wire %s', (wire) => {
  const header = `${wire}-reentrancy-id`;
  const reentrant = (maxStackDepth?: number): object => ({
    entities: ['Cart', 'Box', 'Plain'],
    reentrancy: { enabled: true, ...(maxStackDepth === undefined ? {} : { maxStackDepth }) },
    entitiesConfig: [{ entities: ['Plain'], reentrancy: { enabled: false } }],
  });
  const chainOf = ({ headers }: ActorRequest): string => String(headers[header] ?? '');
  /** A call that an actor makes: with the chain of its own. */
  const onward = (world: ActorsWorld, request: ActorRequest, path: string): Promise<Answer> =>
    world.call(path, { headers: { [header]: chainOf(request) } });
  const nameOf = ({ path }: ActorRequest): string => path.split('/method/')[1] ?? '';

  test('each call without a chain begins a new one; one that is sent goes on, over several actors', async () => {
    await using world = await actorsWorld({ wire, configuration: reentrant() });
    world.app.answer = async (request): Promise<ActorAnswer> => {
      const next = { out: 'Box/b/method/between', between: 'Cart/a/method/back' }[nameOf(request)];
      return { status: next === undefined ? 200 : (await onward(world, request, next)).status };
    };
    expect((await world.call('Cart/a/method/out')).status).toBe(200);
    expect((await world.call('Cart/a/method/out')).status).toBe(200);
    const [one = '', two = '', three = '', ...others] = world.app.requests.map(chainOf);
    expect(one).not.toBe('');
    expect([two, three]).toEqual([one, one]);
    expect(new Set(others).size).toBe(1);
    expect(others[0]).not.toBe(one);
    expect((await world.call('Cart/a/method/m', { headers: { [header]: 'mine' } })).status).toBe(200);
    expect(world.app.requests.map(chainOf).at(-1)).toBe('mine');
  });

  test.each(['reminders', 'timers'])('%s carry a chain as well: their actor may call itself', async (kind) => {
    await using world = await actorsWorld({ wire, configuration: reentrant() });
    world.app.answer = async (request) => {
      if (nameOf(request) !== 'back') await onward(world, request, 'Cart/a/method/back');
      return {};
    };
    await world.call(`Cart/a/${kind}/r`, { body: '{"dueTime":"1s"}' });
    await world.pass('2s');
    await until(() => world.app.of('PUT').length === 2);
    expect(new Set(world.app.requests.map(chainOf)).size).toBe(1);
    expect(world.app.requests.map(chainOf)).not.toContain('');
  });

  test('calls of a chain run side by side; others wait until the whole chain has left', async () => {
    await using world = await actorsWorld({ wire, configuration: reentrant() });
    const answers = new Map<string, () => void>();
    world.app.answer = async (request) => {
      if (nameOf(request) === 'out')
        await Promise.all(['one', 'two'].map((name) => onward(world, request, `Cart/a/method/${name}`)));
      else if (nameOf(request) !== 'other') await new Promise<void>((resolve) => answers.set(nameOf(request), resolve));
      return {};
    };
    const out = world.call('Cart/a/method/out');
    await until(() => answers.size === 2);
    const other = world.call('Cart/a/method/other');
    await until(() => world.sidecar.actors.active()[0]?.waiting === 1);
    answers.get('one')?.();
    await until(() => world.sidecar.actors.active()[0]?.calls === 2);
    expect(world.app.requests.map(nameOf)).not.toContain('other');
    answers.get('two')?.();
    expect([(await out).status, (await other).status]).toEqual([200, 200]);
  });

  test.each([
    [undefined, 32],
    [1, 1],
    [5, 5],
  ])('a depth of %j: %i calls, the first included', async (maxStackDepth, most) => {
    await using world = await actorsWorld({ wire, configuration: reentrant(maxStackDepth) });
    const errors: unknown[] = [];
    world.app.answer = async (request) => {
      if (nameOf(request) === 'end') return {};
      const inner = await onward(world, request, 'Cart/a/method/deeper');
      if (inner.status !== 200) errors.push(inner.error);
      return {};
    };
    expect((await world.call('Cart/a/method/deeper')).status).toBe(200);
    expect(world.app.of('PUT')).toHaveLength(most);
    expect(errors).toEqual([[500, 'ERR_ACTOR_STACK_DEPTH']]);
    // The depth is given back.
    expect((await world.call('Cart/a/method/end')).status).toBe(200);
    world.app.requests.length = 0;
    expect((await world.call('Cart/a/method/deeper')).status).toBe(200);
    expect(world.app.of('PUT')).toHaveLength(most);
  });

  test('a type without reentrancy gets no chain, and a call to itself waits for itself', async () => {
    await using world = await actorsWorld({ wire, configuration: reentrant() });
    const leaving = new AbortController();
    let end = (): void => undefined;
    world.app.answer = async (request) => {
      if (nameOf(request) !== 'out') return {};
      const url = `${world.server.url}/v1.0/actors/Plain/a/method/in`;
      const { signal } = leaving;
      await fetch(url, { method: 'POST', headers: { [header]: 'mine' }, signal }).catch(() => undefined);
      return new Promise((resolve) => (end = () => resolve({ status: 500, body: 'gave up' })));
    };
    const out = world.call('Plain/a/method/out', { headers: { [header]: 'mine' } });
    await until(() => world.sidecar.actors.active()[0]?.waiting === 1);
    await world.clock.advance('1h');
    expect(world.app.requests.map(nameOf)).toEqual(['out']);
    expect(world.app.requests.map(chainOf)).toEqual(['']);
    leaving.abort();
    await until(() => world.sidecar.actors.active()[0]?.waiting === 0);
    end();
    expect((await out).error).toEqual([500, 'ERR_ACTOR_INVOKE_METHOD']);
    expect((await world.call('Plain/a/method/later')).status).toBe(200);
    expect(world.app.requests.map(nameOf)).toEqual(['out', 'later']);
  });
});
