import { describe, expect, test } from 'vitest';
import { NameResolver } from '../../../../src/blocks/invocation/resolution/name-resolver.ts';
import { MemoryStore } from '../../../../src/components/memory/memory-store.ts';
import { memoryState, nodeHandler, Sidecar, type SidecarOptions, sharedState } from '../../../../src/index.ts';
import { virtualClock } from '../../../../src/testing/index.ts';
import { freePort, listen } from '../../../support/http.ts';
import { RecordingLogger } from '../../../support/logger.ts';
import { PausableStore } from '../../../support/pausable-store.ts';

/** A sidecar whose application answers with a name, and counts. */
class Named implements AsyncDisposable {
  readonly clock = virtualClock();
  readonly logger = new RecordingLogger();
  readonly sidecar: Sidecar;
  calls = 0;

  constructor(name: string, options: Partial<SidecarOptions>) {
    const { clock, logger } = this;
    const fetch = (asked: Request): Response => {
      if (new URL(asked.url).pathname === '/sidecar/config') return new Response(null, { status: 404 });
      this.calls++;
      return new Response(name);
    };
    this.sidecar = new Sidecar({ app: { fetch }, clock, logger, ...options });
  }

  static async start(name: string, options: Partial<SidecarOptions>): Promise<Named> {
    const named = new Named(name, options);
    await named.sidecar.start();
    return named;
  }

  async invoke(target: string): Promise<string> {
    const reply = await this.sidecar.invocation.invoke(target, 'hello');
    return `${reply.status} ${await reply.text()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.sidecar.stop();
    await this.clock.advance('1h');
    await stopped;
  }
}

const manyTimes = (times: number): number[] => Array.from({ length: times }, (_, index) => index);

describe('sidecars of one process that share a store', () => {
  test('call each other without a socket and without an address, also one that starts later', async () => {
    const state = sharedState(memoryState());
    await using shop = await Named.start('shop', { appId: 'shop', state });
    await expect(shop.invoke('billing')).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
    await using billing = await Named.start('billing', { appId: 'billing', state });
    expect([await shop.invoke('billing'), await billing.invoke('shop')]).toEqual(['200 billing', '200 shop']);
  });

  test('find all instances of an application, and share the calls among them', async () => {
    const state = sharedState(memoryState());
    await using shop = await Named.start('shop', { appId: 'shop', state });
    await using first = await Named.start('first', { appId: 'billing', state });
    await using second = await Named.start('second', { appId: 'billing', state });
    for (const _ of manyTimes(60)) await shop.invoke('billing');
    expect(first.calls + second.calls).toBe(60);
    expect(Math.min(first.calls, second.calls)).toBeGreaterThan(10);
  });

  test('call the other instances when one has stopped', async () => {
    const state = sharedState(memoryState());
    await using shop = await Named.start('shop', { appId: 'shop', state });
    await using _first = await Named.start('first', { appId: 'billing', state });
    const second = await Named.start('second', { appId: 'billing', state });
    await shop.invoke('billing');
    await second[Symbol.asyncDispose]();
    for (const _ of manyTimes(10)) expect(await shop.invoke('billing')).toBe('200 first');
  });

  test('do not find an application of another namespace under its bare name', async () => {
    const resolver = new NameResolver({ options: {}, namespace: 'default', clock: virtualClock(), random: () => 0 });
    expect(await resolver.resolve('billing', 'default')).toEqual([]);
  });
});

describe('sidecars of several processes that share a store', () => {
  const apart = (memory: MemoryStore): PausableStore => new PausableStore(memory, false, true);
  const memory = (): MemoryStore => new MemoryStore({ clock: virtualClock(), logger: new RecordingLogger() });

  test('call each other at the address that each tells, also one with a path', async () => {
    const store = memory();
    const port = await freePort();
    await using billing = await Named.start('billing', {
      appId: 'billing',
      state: apart(store),
      address: `http://127.0.0.1:${port}/sidecar`,
    });
    const paths: (string | undefined)[] = [];
    const listener = nodeHandler(billing.sidecar.peers, { prefix: '/sidecar' });
    await using _server = await listen((req, res) => {
      paths.push(req.url);
      listener(req, res);
    }, port);
    await using shop = await Named.start('shop', { appId: 'shop', state: apart(store) });
    expect(await shop.invoke('billing')).toBe('200 billing');
    expect(paths).toEqual(['/sidecar/v1.0/invoke/billing.default/method/hello']);
  });

  test('do not call one that tells no address', async () => {
    const store = memory();
    await using _billing = await Named.start('billing', { appId: 'billing', state: apart(store) });
    await using shop = await Named.start('shop', { appId: 'shop', state: apart(store) });
    await expect(shop.invoke('billing')).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
  });
});

describe('the static table', () => {
  test('goes before the hosts of the store, with or without the namespace, and leaves out what does not listen', async () => {
    const state = sharedState(memoryState());
    await using far = await Named.start('far', { appId: 'billing' });
    await using server = await listen(nodeHandler(far.sidecar.peers));
    const dead = `http://127.0.0.1:${await freePort()}`;
    await using near = await Named.start('near', { appId: 'billing', state });
    for (const name of ['billing', 'billing.default']) {
      const nameResolution = { static: { [name]: [dead, server.url] } };
      await using shop = await Named.start('shop', { appId: `shop-${name.length}`, state, nameResolution });
      for (const _ of manyTimes(8)) expect(await shop.invoke('billing')).toBe('200 far');
    }
    expect([far.calls, near.calls]).toEqual([16, 0]);
  });
});

describe('the order of instances', () => {
  const resolverOf = (count: number, random: () => number = () => 0) => {
    const clock = virtualClock();
    const urls = manyTimes(count).map((index) => `http://host-${index}:3500`);
    return { clock, resolver: new NameResolver({ options: { static: { app: urls } }, namespace: 'n', clock, random }) };
  };
  const idsOf = async (resolver: NameResolver): Promise<readonly string[]> =>
    (await resolver.resolve('app', 'n')).map(({ id }) => id.slice(12, 13));

  test('puts one that failed last for a while, longer each time', async () => {
    const { clock, resolver } = resolverOf(3);
    const [first] = await resolver.resolve('app', 'n');
    if (first === undefined) throw new Error('no instance');
    resolver.failed(first);
    expect(await idsOf(resolver)).toEqual(['1', '2', '0']);
    await clock.advance('5s');
    expect(await idsOf(resolver)).toEqual(['0', '1', '2']);
    resolver.failed(first);
    await clock.advance('9s');
    expect(await idsOf(resolver)).toEqual(['1', '2', '0']);
    await clock.advance('1s');
    expect(await idsOf(resolver)).toEqual(['0', '1', '2']);
  });

  test('keeps at most 1,000 connections', async () => {
    const { resolver } = resolverOf(1_000, Math.random);
    const { resolver: small } = resolverOf(1_001);
    const [before, after] = [await resolver.resolve('app', 'n'), await resolver.resolve('app', 'n')];
    expect(new Set([...before, ...after]).size).toBe(1_000);
    const [first] = await small.resolve('app', 'n');
    const [again] = await small.resolve('app', 'n');
    expect([first?.id === again?.id, first === again]).toEqual([true, false]);
    await small.close();
    await resolver.close();
  });
});

describe('host names from a template', () => {
  const resolver = new NameResolver({
    options: { dns: { template: '{appId}-sidecar.{namespace}.svc.cluster.local', port: 3500 } },
    namespace: 'n',
    clock: virtualClock(),
    random: () => 0,
  });

  test('are for applications that are found nowhere else', async () => {
    const instances = await resolver.resolve('billing', 'prod');
    expect(instances.map(({ id }) => id)).toEqual(['http://billing-sidecar.prod.svc.cluster.local:3500']);
  });

  test.each(['a@b', 'a:80', 'a?b', 'a#b', '-a', 'a-', 'ä', '', 'x'.repeat(64), '%2e'])(
    'are not made of %j, which cannot stand in one',
    async (appId) => {
      expect(await resolver.resolve(appId, 'prod')).toEqual([]);
      expect(await resolver.resolve('billing', appId)).toEqual([]);
    },
  );
});

describe('options', () => {
  test.each([
    [{ address: 'shop:3500' }, 'address'],
    [{ address: 'http://shop:3500/?x' }, 'address'],
    [{ address: 'http://user:secret@shop' }, 'address'],
    [{ address: 'http://user:secret@shop' }, 'http://…@shop'],
    [{ nameResolution: { static: { billing: 'ftp://x' } } }, 'nameResolution'],
    [{ nameResolution: { static: { 'a.b.c': 'http://x' } } }, 'nameResolution'],
    [{ nameResolution: { static: { billing: ['http://x#y'] } } }, 'nameResolution'],
    [{ nameResolution: { static: { billing: [] } } }, 'nameResolution'],
    [{ nameResolution: { dns: { template: 'sidecar.local', port: 1 } } }, 'template'],
    [{ nameResolution: { dns: { template: '{appId}.{zone}', port: 1 } } }, 'template'],
    [{ nameResolution: { dns: { template: '{appId}', port: 0 } } }, 'port'],
    [{ dapr: { placement: { actorTypes: [''] } } }, 'actorTypes'],
    [{ dapr: { placement: { enabled: 'yes' } } }, 'enabled'],
  ])('refuses %j', (options, named) => {
    const make = (): unknown => new Sidecar({ appId: 'shop', ...(options as Partial<SidecarOptions>) });
    expect(make).toThrow(
      expect.objectContaining({ code: 'ERR_CONFIGURATION', message: expect.stringContaining(named) }),
    );
  });

  test('takes names that objects have anyway', async () => {
    const table = JSON.parse('{"__proto__": "http://10.0.0.1", "constructor": "http://10.0.0.2"}') as Record<
      string,
      string
    >;
    const resolver = new NameResolver({
      options: { static: table },
      namespace: 'n',
      clock: virtualClock(),
      random: () => 0,
    });
    expect((await resolver.resolve('__proto__', 'n')).map(({ id }) => id)).toEqual(['http://10.0.0.1']);
    expect(await resolver.resolve('toString', 'n')).toEqual([]);
  });
});
