import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { request } from '../../../src/http/message.ts';
import { Actor, memoryState, sharedState } from '../../../src/index.ts';
import { TestSidecar, type TestSidecarOptions } from '../../support/sidecar.ts';

interface CartState {
  items: string[];
}

const log: string[] = [];

class Cart extends Actor<CartState> {
  add(item: string): number {
    this.state.items = [...(this.state.items ?? []), item];
    return this.state.items.length;
  }

  addAndFail(item: string): void {
    this.add(item);
    throw new Error('no more room');
  }

  items(): readonly string[] {
    return this.state.items ?? [];
  }

  take(given: { readonly list: number[] }): { readonly list: number[] } {
    given.list.push(0);
    return given;
  }

  async outer(id: string): Promise<string> {
    return `${await this.actors.get(Cart, id).inner()} of ${this.id}`;
  }

  inner(): string {
    return `inner of ${this.type}`;
  }

  async recurse(depth: number): Promise<number> {
    return depth === 0 ? 0 : 1 + (await this.actors.get(Cart, this.id).recurse(depth - 1));
  }

  bad(): unknown {
    return { big: 1n };
  }

  badState(): void {
    (this.state as Record<string, unknown>)['items'] = 1n;
  }

  _hidden(): string {
    return 'hidden';
  }

  override onActivate(): void {
    log.push(`${this.id} active`);
  }

  override onDeactivate(): void {
    log.push(`${this.id} inactive`);
  }
}

async function world(
  options: TestSidecarOptions & { readonly reentrant?: boolean | number } = {},
): Promise<TestSidecar> {
  const { reentrant = false, ...rest } = options;
  const made = new TestSidecar(rest);
  made.sidecar.actors.register(Cart, { idleTimeout: '1m', reentrant });
  await made.start();
  log.length = 0;
  return made;
}

describe('actors in code', () => {
  test('a method is called by its name, and its change of the state is stored', async () => {
    await using own = await world();
    const { actors } = own.sidecar;
    expect(await actors.get(Cart, 'alice').add('book')).toBe(1);
    expect(await actors.get(Cart, 'alice').add('pen')).toBe(2);
    expect(await actors.get(Cart, 'bob').items()).toEqual([]);
    expect(await actors.state('Cart', 'alice')).toEqual(new Map([['state', { items: ['book', 'pen'] }]]));
    expect(
      actors
        .active()
        .map(({ actorId }) => actorId)
        .toSorted(),
    ).toEqual(['alice', 'bob']);
  });

  test('an error rolls the turn back, and is told', async () => {
    await using own = await world();
    const cart = own.sidecar.actors.get(Cart, 'a');
    await cart.add('book');
    await expect(cart.addAndFail('pen')).rejects.toMatchObject({
      code: 'ERR_ACTOR_INVOKE_METHOD',
      message: expect.stringContaining('no more room'),
    });
    expect(await cart.items()).toEqual(['book']);
  });

  test('a turn does not overwrite what others have written of the state meanwhile', async () => {
    await using own = await world();
    const cart = own.sidecar.actors.get(Cart, 'a');
    await cart.add('book');
    const body = JSON.stringify([{ operation: 'upsert', request: { key: 'state', value: { items: ['pen', 'ink'] } } }]);
    const written = await own.sidecar.handle(
      request('POST', '/v1.0/actors/Cart/a/state', { headers: { 'content-type': 'application/json' }, body }),
    );
    expect(written.status).toBe(204);
    await expect(cart.add('paper')).rejects.toMatchObject({
      code: 'ERR_ACTOR_STATE_TRANSACTION_SAVE',
      message: expect.stringContaining('written by others'),
    });
    expect(await cart.add('paper')).toBe(3);
    expect(await cart.items()).toEqual(['pen', 'ink', 'paper']);
  });

  test('a state or a result that is not JSON fails the call, and changes nothing', async () => {
    await using own = await world();
    const cart = own.sidecar.actors.get(Cart, 'a');
    await cart.add('book');
    await expect(cart.bad()).rejects.toMatchObject({ code: 'ERR_ACTOR_INVOKE_METHOD' });
    await expect(cart.badState()).rejects.toMatchObject({ code: 'ERR_ACTOR_INVOKE_METHOD' });
    expect(await cart.items()).toEqual(['book']);
  });

  test('arguments and results are copies', async () => {
    await using own = await world();
    const given = { list: [1] };
    const taken = await own.sidecar.actors.get(Cart, 'a').take(given);
    expect([given, taken]).toEqual([{ list: [1] }, { list: [1, 0] }]);
  });

  test.each([
    'constructor',
    'toString',
    '__proto__',
    '_hidden',
    'onActivate',
    'id',
    'state',
    'missing',
    'hasOwnProperty',
  ])('%s cannot be called from outside', async (method) => {
    await using own = await world();
    await expect(own.sidecar.actors.call('Cart', 'a', { method })).rejects.toMatchObject({
      code: 'ERR_ACTOR_INVOKE_METHOD',
      message: expect.stringContaining('was not found'),
    });
  });

  test('the state outlives deactivation and the sidecar', async () => {
    const state = sharedState(memoryState());
    const first = await world({ state });
    await first.sidecar.actors.get(Cart, 'a').add('book');
    await first.clock.advance('2m');
    expect(log).toEqual(['a active', 'a inactive']);
    expect(first.sidecar.actors.active()).toEqual([]);
    expect(await first.sidecar.actors.get(Cart, 'a').items()).toEqual(['book']);
    await first[Symbol.asyncDispose]();
    expect(log).toEqual(['a active', 'a inactive', 'a active', 'a inactive']);
  });

  test('actors call each other; one that is reentrant calls itself, to its depth', async () => {
    await using own = await world({ reentrant: 3 });
    const cart = own.sidecar.actors.get(Cart, 'a');
    expect(await cart.outer('b')).toBe('inner of Cart of a');
    expect(await cart.outer('a')).toBe('inner of Cart of a');
    expect(await cart.recurse(2)).toBe(2);
    await expect(cart.recurse(3)).rejects.toMatchObject({ message: expect.stringContaining('more than 3 calls') });
    expect(await cart.recurse(2)).toBe(2);
  });

  test('a turn is in no AsyncLocalStorage of its caller', async () => {
    const tenant = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    class Seeing extends Actor {
      look(): void {
        seen.push(tenant.getStore());
      }
    }
    await using own = new TestSidecar();
    own.sidecar.actors.register(Seeing);
    await own.start();
    await tenant.run('one', () => own.sidecar.actors.get(Seeing, 'a').look());
    expect(seen).toEqual([undefined]);
  });

  test('what cannot be hosted is refused', async () => {
    await using own = new TestSidecar();
    const { actors } = own.sidecar;
    expect(() => actors.register(class NoActor {} as never)).toThrow('expected one that extends Actor');
    expect(() => actors.register(Cart, { type: 'a/b' })).toThrow('expected a name without /');
    expect(() => actors.register(Cart, { idleTimeout: 'soon' as never })).toThrow('idleTimeout');
    actors.register(Cart);
    expect(() => actors.register(Cart)).toThrow('is registered already');
    await own.start();
    expect(() => actors.register(Cart, { type: 'Late' })).toThrow('register it before start()');
  });

  test('a proxy can be awaited, and a call that waits ends with its signal', async () => {
    await using own = await world();
    const cart = own.sidecar.actors.get(Cart, 'a');
    expect(await cart).toBe(cart);
  });
});

describe('several hosts of one process', () => {
  test('each actor is at one of them, and a stop hands over without a failed call', async () => {
    const state = sharedState(memoryState());
    const one = await world({ state });
    await using two = await world({ state });
    await Promise.all([one.clock.settled(), two.clock.settled()]);
    const ids = Array.from({ length: 40 }, (_, index) => `cart-${index}`);
    const add = (sidecar: TestSidecar['sidecar']): Promise<number[]> =>
      Promise.all(ids.map((id) => sidecar.actors.get(Cart, id).add('x')));
    expect(new Set(await add(one.sidecar))).toEqual(new Set([1]));
    expect(new Set(await add(two.sidecar))).toEqual(new Set([2]));
    const counts = [one, two].map(({ sidecar }) => sidecar.actors.active().length);
    expect(counts.every((count) => count > 5)).toBe(true);
    expect(counts[0]! + counts[1]!).toBe(40);
    await one[Symbol.asyncDispose]();
    const calls = add(two.sidecar);
    await two.clock.advance('30s');
    expect(new Set(await calls)).toEqual(new Set([3]));
    expect(two.sidecar.actors.active()).toHaveLength(40);
  });

  test('another application of the store calls; a type of two applications is refused for the second', async () => {
    const state = sharedState(memoryState());
    await using one = await world({ state });
    await using other = new TestSidecar({ state, appId: 'billing' });
    other.sidecar.actors.register(Cart);
    await other.start();
    await other.clock.settled();
    expect(one.sidecar.actors.types()).toEqual(['Cart']);
    expect(other.sidecar.actors.types()).toEqual([]);
    expect(other.logger.at('error').map(({ message }) => message)).toEqual([
      expect.stringContaining('hosted by another application already'),
    ]);
    const reason = 'another application hosts the actor types "Cart"';
    expect(other.sidecar.health.state().checks).toContainEqual({ name: 'actors', isReady: false, reason });
    expect(one.sidecar.health.state().checks).toContainEqual({ name: 'actors', isReady: true });
    expect(await other.sidecar.actors.get(Cart, 'a').add('x')).toBe(1);
    expect(await one.sidecar.actors.get(Cart, 'a').items()).toEqual(['x']);
  });

  test('hosts of one application with different types are refused at the start', async () => {
    const state = sharedState(memoryState());
    await using one = await world({ state });
    await one.clock.settled();
    await using two = new TestSidecar({ state });
    two.sidecar.actors.register(class Other extends Actor {});
    await expect(two.start()).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION',
      message: expect.stringMatching(/has the actor types Other, and host .* has Cart/),
    });
  });

  test('accessControl decides by the path of the call', async () => {
    const state = sharedState(memoryState());
    const policy = { appId: 'billing', defaultAction: 'deny', trustDomain: 'public', namespace: 'default' } as const;
    const operations = [{ name: '/actors/Cart/a/method/items', httpVerb: ['*'], action: 'allow' }] as const;
    await using _ = await world({
      state,
      accessControl: { defaultAction: 'deny', policies: [{ ...policy, operations }] },
    });
    await using other = new TestSidecar({ state, appId: 'billing' });
    await other.start();
    expect(await other.sidecar.actors.get(Cart, 'a').items()).toEqual([]);
    await expect(other.sidecar.actors.get(Cart, 'a').add('x')).rejects.toMatchObject({ status: 403 });
    await expect(other.sidecar.actors.get(Cart, 'b').items()).rejects.toMatchObject({ status: 403 });
  });
});
