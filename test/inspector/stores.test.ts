/** Stores of state, locks, configuration and secrets over the management API. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sqliteStateStore } from '../../src/components/embedded/index.ts';
import { request } from '../../src/http/message.ts';
import {
  type Duration,
  durableLocks,
  environmentSecrets,
  keyValueStore,
  memoryConfiguration,
  memoryLocks,
  memoryState,
  type SidecarOptions,
} from '../../src/index.ts';
import type {
  ConfigurationSubscriptionsReply,
  LocksReply,
  StateKeysReply,
  StateValueReply,
  StoresReply,
} from '../../src/inspector/api/stores.ts';
import type { InspectOptions, PayloadPlace } from '../../src/inspector/index.ts';
import type { KeyValueDefinition, KeyValueStore } from '../../src/kit/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { type Inspected, inspected, TOKEN, untilEnd } from './inspected.ts';

const PRIMARY = { name: 'key-1', key: '0123456789abcdef0123456789abcdef' };

function query(path: string, parameters: Readonly<Record<string, string | number>>): string {
  const texts = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  return `${path}?${new URLSearchParams(Object.fromEntries(texts))}`;
}

async function keysOf(
  it: Inspected,
  store: string,
  more: Readonly<Record<string, string | number>> = {},
): Promise<StateKeysReply> {
  const { status, json, text } = await it.get(query('stores/keys', { store, ...more }));
  if (status !== 200) throw new Error(text);
  return json as unknown as StateKeysReply;
}

/** The names of all keys of a store, page by page. */
async function allKeys(it: Inspected, store: string, limit: number): Promise<readonly string[]> {
  const found: string[] = [];
  let page = await keysOf(it, store, { limit });
  for (;;) {
    found.push(...page.keys.map(({ key }) => key));
    if (page.cursor === undefined) return found;
    page = await keysOf(it, store, { limit, cursor: page.cursor });
  }
}

async function readValue(it: Inspected, store: string, key: string): Promise<StateValueReply> {
  const { status, json, text } = await it.get(query('stores/keys/one', { store, key }));
  if (status !== 200) throw new Error(text);
  return json as unknown as StateValueReply;
}

function withState(options: SidecarOptions = {}, inspectOptions?: InspectOptions): Promise<Inspected> {
  return inspected({ components: [keyValueStore('kv')], ...options }, inspectOptions);
}

/** A state store that lets a test change what it opens. */
function changed(
  definition: KeyValueDefinition,
  change: (store: KeyValueStore) => Partial<KeyValueStore>,
): KeyValueDefinition {
  return {
    ...definition,
    open: async (context) => {
      const store = await definition.open(context);
      const own: KeyValueStore = {
        read: (keys) => store.read(keys),
        write: (operations, options) => store.write(operations, options),
        close: () => store.close(),
      };
      return { ...own, ...change(store) };
    },
  };
}

const STORES: Readonly<Record<string, () => KeyValueDefinition>> = {
  'the own state': () => keyValueStore('kv'),
  'a store in memory': () => keyValueStore('kv', { store: memoryState() }),
  'a file of SQLite': () => {
    const path = mkdtempSync(join(tmpdir(), 'insidecar-inspector-'));
    untilEnd({ [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }) });
    return sqliteStateStore('kv', { file: join(path, 'kv.db') });
  },
};

describe.each(Object.entries(STORES))('keys in %s', (_where, make) => {
  test('10,000 of them come in order, each once, page by page', async () => {
    const it = await withState({ components: [make()] });
    const names = Array.from({ length: 10_000 }, (_, at) => `key-${String(at).padStart(5, '0')}`);
    await it.sidecar.state.transact(
      'kv',
      names.map((key) => ({ operation: 'upsert', key, value: 1 })),
    );
    expect(await allKeys(it, 'kv', 1_000)).toEqual(names);
    const first = await keysOf(it, 'kv');
    expect([first.keys.length, first.cursor]).toEqual([100, 'key-00099']);
    const some = await keysOf(it, 'kv', { prefix: 'key-0999' });
    expect([some.keys.map(({ key }) => key), some.cursor]).toEqual([names.slice(-10), undefined]);
    expect((await keysOf(it, 'kv', { prefix: 'key-0999', limit: 10 })).cursor).toBeUndefined();
  });

  test('any key that a request can have is listed, and found by its name', async () => {
    const it = await withState({ components: [make()] });
    const odd = [
      '__proto__',
      'constructor',
      'toString',
      'a/b',
      '../x',
      'a b',
      ' ',
      'a?b&c=d#e',
      '%2F',
      'ü€𝄞',
      'a|',
      '1',
    ];
    for (const key of odd) await it.sidecar.state.set('kv', key, { key });
    const listed = await allKeys(it, 'kv', 5);
    expect([...listed].sort()).toEqual([...odd].sort());
    for (const key of odd) expect((await readValue(it, 'kv', key)).value.value).toBe(JSON.stringify({ key }));
  });

  test('each has its size, its ETag and its expiry, and its value is not in the list', async () => {
    const it = await withState({ components: [make()] });
    await it.sidecar.state.set('kv', 'a', 'text');
    await it.sidecar.state.set('kv', 'b', 'seen nowhere', { ttl: '1h' });
    const { text, json } = await it.get('stores/keys?store=kv');
    expect(text).not.toContain('seen nowhere');
    const [a, b] = [await it.sidecar.state.get('kv', 'a'), await it.sidecar.state.get('kv', 'b')];
    expect(json).toEqual({
      keys: [
        { key: 'a', bytes: 6, etag: a?.etag },
        { key: 'b', bytes: 14, etag: b?.etag, expiresAt: b?.expiresAt },
      ],
    });
    expect((await readValue(it, 'kv', 'b')).key).toEqual({
      key: 'b',
      bytes: 14,
      etag: b?.etag,
      expiresAt: b?.expiresAt,
    });
  });
});

test('one that has expired is not there', async () => {
  const clock = virtualClock();
  const it = await withState({ clock });
  await it.sidecar.state.set('kv', 'a', 1, { ttl: '1m' });
  await it.sidecar.state.set('kv', 'b', 1);
  await clock.advance('2m');
  expect((await keysOf(it, 'kv')).keys.map(({ key }) => key)).toEqual(['b']);
  expect((await it.get('stores/keys/one?store=kv&key=a')).error).toEqual([404, 'ERR_NOT_FOUND']);
});

test('keys of other applications in the same store are neither listed nor read, with and without a prefix', async () => {
  const shared = keyValueStore('kv');
  const under = (name: string, keyPrefix: string) => ({ ...shared, name, options: { keyPrefix } });
  const it = await withState({ components: [shared, under('shop2', 'shop2'), under('all', 'none')] });
  for (const store of ['kv', 'shop2', 'all']) await it.sidecar.state.set(store, `of-${store}`, store);
  for (const store of ['kv', 'shop2', 'all']) expect(await allKeys(it, store, 1)).toEqual([`of-${store}`]);
  for (const key of ['shop2||of-shop2', 'shop||of-kv'])
    expect((await it.get(query('stores/keys/one', { store: 'all', key }))).error).toEqual([
      400,
      'ERR_MALFORMED_REQUEST',
    ]);
});

test('among very many keys of others, a page may be empty, and the next one goes on', async () => {
  const shared = keyValueStore('kv', { keyPrefix: 'a' });
  const it = await withState({ components: [shared, { ...shared, name: 'all', options: { keyPrefix: 'none' } }] });
  const others = Array.from({ length: 5_000 }, (_, at) => ({ operation: 'upsert', key: `k${at}`, value: 1 }) as const);
  await it.sidecar.state.transact('kv', others);
  await it.sidecar.state.set('all', 'own', 1);
  const first = await keysOf(it, 'all');
  expect(first).toEqual({ keys: [], cursor: expect.any(String) });
  expect(await allKeys(it, 'all', 10)).toEqual(['own']);
});

describe('a value', () => {
  test('is shown digit for digit, other bytes as base64', async () => {
    const definition = keyValueStore('kv');
    const it = await withState({
      components: [
        changed(definition, (store) => ({
          read: async (keys) => [
            keys[0] === 'shop||raw'
              ? { bytes: Buffer.from([255, 0, 1]), etag: undefined }
              : (await store.read(keys))[0],
          ],
        })),
      ],
    });
    const item = '[{"key":"big","value":{"id": 12345678901234567890, "price": 1.10}}]';
    await it.sidecar.handle(request('POST', '/v1.0/state/kv', { body: item }));
    expect((await readValue(it, 'kv', 'big')).value).toMatchObject({ format: 'json', isMasked: false });
    expect((await readValue(it, 'kv', 'big')).value.value).toContain('12345678901234567890');
    expect(await readValue(it, 'kv', 'raw')).toEqual({
      key: { key: 'raw', bytes: 3 },
      value: { bytes: 3, format: 'base64', value: '/wAB', isCut: false, isMasked: false },
    });
  });

  test('has its secrets masked, at any depth', async () => {
    const it = await withState();
    await it.sidecar.state.set('kv', 'user', {
      name: 'ann',
      login: [{ Password: 'swordfish', 'api-key': { a: 'k3y' } }],
    });
    const { text } = await it.get('stores/keys/one?store=kv&key=user');
    expect(text).not.toMatch(/swordfish|k3y/);
    expect((await readValue(it, 'kv', 'user')).value).toMatchObject({
      value: '{"name":"ann","login":[{"Password":"***","api-key":"***"}]}',
      isMasked: true,
    });
  });

  test.each(['password', 'user-1-password', 'user:1:API_KEY', 'reset-token/42', 'a.clientSecret.b', 'Authorization'])(
    'of key %s is not shown: the key is the name of a secret',
    async (key) => {
      const it = await withState();
      await it.sidecar.state.set('kv', key, 'swordfish');
      for (const path of [query('stores/keys/one', { store: 'kv', key }), 'stores/keys?store=kv'])
        expect((await it.get(path)).text).not.toContain('swordfish');
      expect(await readValue(it, 'kv', key)).toMatchObject({
        withheld: 'secret',
        value: { format: 'hidden', value: '' },
      });
    },
  );

  test.each(['tokens', 'password-1', 'secretary', 'a'])('of key %s is shown', async (key) => {
    const it = await withState();
    await it.sidecar.state.set('kv', key, 'shown');
    expect((await readValue(it, 'kv', key)).value.value).toBe('"shown"');
  });

  test('is hidden by payloads: none, and changed by a function, which gets the store and the key', async () => {
    const places: PayloadPlace[] = [];
    const none = await withState({}, { token: TOKEN, payloads: 'none' });
    await none.sidecar.state.set('kv', 'a', 'hidden');
    expect((await readValue(none, 'kv', 'a')).value).toMatchObject({ format: 'hidden', value: '', bytes: 8 });
    const payloads: InspectOptions['payloads'] = (value, place) => {
      places.push(place);
      return place.key === 'a' ? undefined : { seen: value };
    };
    const some = await withState({}, { token: TOKEN, payloads });
    for (const key of ['a', 'b', 'password']) await some.sidecar.state.set('kv', key, key);
    expect((await readValue(some, 'kv', 'a')).value.format).toBe('hidden');
    expect((await readValue(some, 'kv', 'b')).value).toMatchObject({ value: '{"seen":"b"}', isMasked: true });
    await readValue(some, 'kv', 'password');
    expect(places).toEqual(['a', 'b'].map((key) => ({ kind: 'state', name: 'kv', key })));
  });

  test('of an encrypted store is never shown, neither as it is nor as it is stored', async () => {
    const it = await withState({ components: [keyValueStore('kv', { primaryEncryptionKey: PRIMARY })] });
    await it.sidecar.state.set('kv', 'a', 'swordfish');
    const { json } = await it.get('stores');
    expect(json).toMatchObject({ stores: [{ name: 'kv', isEncrypted: true }] });
    const texts = await Promise.all(
      ['stores', 'stores/keys?store=kv', 'stores/keys/one?store=kv&key=a'].map(
        async (path) => (await it.get(path)).text,
      ),
    );
    expect(texts.join()).not.toMatch(/swordfish|\|\|key-1|0123456789abcdef/);
    const { key, withheld, value } = await readValue(it, 'kv', 'a');
    expect([key.key, withheld, value.format, value.value]).toEqual(['a', 'encrypted', 'hidden', '']);
    expect(key.etag).toBe((await it.sidecar.state.get('kv', 'a'))?.etag);
  });
});

test('a store that does not list its keys says so, and shows one that is named', async () => {
  const it = await withState({ components: [changed(keyValueStore('kv'), () => ({}))] });
  await it.sidecar.state.set('kv', 'a', 1);
  expect((await it.get('stores')).json).toMatchObject({ stores: [{ name: 'kv', isListed: false }] });
  expect((await it.get('stores/keys?store=kv')).error).toEqual([500, 'ERR_STATE_STORE_NOT_SUPPORTED']);
  expect((await readValue(it, 'kv', 'a')).value.value).toBe('1');
});

test('a store that fails is told without the words of its driver', async () => {
  const failure = new Error('the disk is gone');
  const broken = changed(keyValueStore('kv'), () => ({
    failure,
    read: () => Promise.reject(new Error('SELECT swordfish')),
    list: () => Promise.reject(new Error('SELECT swordfish')),
  }));
  const it = await withState({ components: [broken] });
  expect((await it.get('stores')).json).toMatchObject({ stores: [{ failure: 'the disk is gone' }] });
  for (const path of ['stores/keys?store=kv', 'stores/keys/one?store=kv&key=a']) {
    const { error, text } = await it.get(path);
    expect(error).toEqual([500, 'ERR_STATE_GET']);
    expect(text).not.toContain('swordfish');
  }
});

test.each([
  ['stores/keys', 400, 'the query has no store'],
  ['stores/keys?store=vk', 400, 'state store vk is not found: expected kv; did you mean \\"kv\\"?'],
  ['stores/keys?store=kv&limit=0', 400, 'limit is 0: expected a whole number from 1 to 1000'],
  ['stores/keys?store=kv&limit=1001', 400, 'limit is 1001: expected a whole number from 1 to 1000'],
  ['stores/keys?store=kv&prefix=b&cursor=a', 400, 'cursor is \\"a\\": expected that of a page with prefix \\"b\\"'],
  ['stores/keys?store=kv&prefix=a%7C%7Cb', 400, 'key \\"a||b\\" contains \\"||\\": expected a key without it'],
  ['stores/keys?store=kv&prefx=a', 400, 'did you mean'],
  ['stores/keys/one?store=kv', 400, 'the query has no key'],
  ['stores/keys/one?store=kv&key=none', 404, 'there is no key \\"none\\" in state store kv'],
  ['stores/locks?store=kv', 500, 'lock store kv is not configured'],
])('%s: %i %s', async (path, status, message) => {
  const it = await withState();
  const answer = await it.get(path);
  expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message)]);
});

test('a sidecar that has stopped shows no keys', async () => {
  const it = await withState();
  await it.sidecar.stop();
  expect((await it.get('stores/keys?store=kv')).error).toEqual([503, 'ERR_SHUTTING_DOWN']);
});

describe('access to stores', () => {
  const PATHS = ['stores', 'stores/keys?store=kv', 'stores/keys/one?store=kv&key=a'];

  test('a caller who may read sees all of it, and changes nothing', async () => {
    const it = await withState({}, { authorize: () => 'read' });
    await it.sidecar.state.set('kv', 'a', 1);
    for (const path of PATHS) expect((await it.get(path)).status).toBe(200);
    for (const path of PATHS) expect((await it.post(path, {})).status).toBe(405);
  });

  test('a caller without the token, and a page of another origin, are refused', async () => {
    const it = await withState();
    await it.sidecar.state.set('kv', 'a', 1);
    for (const path of PATHS) {
      expect((await it.send('GET', `/api/v1/${path}`)).error).toEqual([401, 'ERR_UNAUTHORIZED']);
      expect((await it.get(path, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    }
  });
});

describe('locks', () => {
  async function locksOf(it: Inspected, store = 'locks'): Promise<LocksReply> {
    return (await it.get(query('stores/locks', { store }))).json as unknown as LocksReply;
  }
  const resourcesOf = async (it: Inspected, store?: string) =>
    (await locksOf(it, store)).locks.map(({ resource }) => resource);
  const OWNER = '5f3c1a52-89ab-4cde-8f01-23456789abcd';

  test('are those that this process has taken, in code and over HTTP, until they are released or expire', async () => {
    const clock = virtualClock({ startAt: '2026-01-01T00:00:00Z' });
    const it = await inspected({ components: [memoryLocks('locks'), durableLocks('others')], clock });
    const { locks } = it.sidecar;
    const a = await locks.tryLock('locks', '__proto__', { ttl: '30s', owner: OWNER });
    const body = { resourceId: 'b/c', lockOwner: 'worker-1', expiryInSeconds: 60 };
    await it.sidecar.handle(request('POST', '/v1.0-alpha1/lock/locks', { body }));
    await locks.tryLock('others', 'b/c', { ttl: '30s' });
    expect(await locks.tryLock('locks', 'b/c', { ttl: '30s' })).toBeUndefined();
    const now = clock.now();
    expect(await locksOf(it)).toEqual({
      locks: [
        { resource: 'b/c', owner: 'worker-1', takenAt: now, expiresAt: now + 60_000 },
        { resource: '__proto__', owner: '5f3c1a52…abcd', takenAt: now, expiresAt: now + 30_000 },
      ],
      isComplete: true,
    });
    expect((await it.get('stores/locks?store=locks')).text).not.toContain(OWNER);
    expect((await it.get('stores')).json).toMatchObject({ stores: [{ block: 'lock', held: 2 }, { held: 1 }] });
    await a?.unlock();
    expect(await resourcesOf(it)).toEqual(['b/c']);
    expect(await resourcesOf(it, 'others')).toEqual(['b/c']);
    await clock.advance('60s');
    expect(await resourcesOf(it)).toEqual([]);
  });

  test('one that another owner could not release stays; one that was taken again has its new owner', async () => {
    const clock = virtualClock();
    const it = await inspected({ components: [memoryLocks('locks')], clock });
    const { locks } = it.sidecar;
    await locks.tryLock('locks', 'a', { ttl: '10s', owner: 'one' });
    expect(await locks.unlock('locks', 'a', 'two')).toBe('foreign');
    expect(await resourcesOf(it)).toEqual(['a']);
    await clock.advance('10s');
    await locks.tryLock('locks', 'a', { ttl: '10s', owner: 'two' });
    expect(await locks.unlock('locks', 'a', 'one')).toBe('foreign');
    expect((await locksOf(it)).locks.map(({ owner }) => owner)).toEqual(['two']);
  });

  test('the latest 1,000 are kept, and it is told while others may be held', async () => {
    const clock = virtualClock();
    const it = await inspected({ components: [memoryLocks('locks')], clock });
    const take = (at: number, ttl: Duration) => it.sidecar.locks.tryLock('locks', `lock-${at}`, { ttl });
    await take(0, '1h');
    for (let at = 1; at < 1_000; at++) await take(at, '2h');
    expect((await locksOf(it)).isComplete).toBe(true);
    await take(1_000, '2h');
    const { locks, isComplete } = await locksOf(it);
    expect([locks.length, locks[0]?.resource, locks.at(-1)?.resource, isComplete]).toEqual([
      ...[1_000, 'lock-1000', 'lock-1', false],
    ]);
    await clock.advance('1h');
    expect((await locksOf(it)).isComplete).toBe(true);
  });
});

test('subscriptions to configuration are told with their keys and counts, and never with values', async () => {
  const settings = memoryConfiguration('settings', { items: { level: 's3cret-0', greeting: 's3cret' } });
  const clock = virtualClock({ startAt: '2026-01-01T00:00:00Z' });
  const app = { fetch: async () => new Response(null, { status: 200 }), discovery: false } as const;
  const it = await inspected({ components: [settings], app, clock });
  const { configuration } = it.sidecar;
  const subscribed = await it.sidecar.handle(
    request('GET', '/v1.0/configuration/settings/subscribe?key=level&key=__proto__'),
  );
  const { id } = JSON.parse(Buffer.from(subscribed.body as Uint8Array).toString()) as { readonly id: string };
  const changes = configuration.watch('settings', [], { initial: true });
  const seen = [(await changes.next()).value?.key, (await changes.next()).value?.key];
  expect(seen.sort()).toEqual(['greeting', 'level']);
  const third = changes.next();
  const listed = async () =>
    ((await it.get('stores/subscriptions?store=settings')).json as unknown as ConfigurationSubscriptionsReply)
      .subscriptions;
  const since = clock.now();
  expect(await listed()).toMatchObject([
    { id, keys: ['level', '__proto__'], target: 'app', since, told: 0 },
    { keys: [], target: 'code', since, told: 2 },
  ]);
  expect((await listed())[0]).not.toHaveProperty('lastTold');
  await clock.advance('1m');
  settings.set('level', { value: 's3cret-1' });
  await expect.poll(async () => (await listed()).map(({ lastTold }) => lastTold?.key)).toEqual(['level', 'level']);
  expect((await listed())[0]).toMatchObject({ told: 1, lastTold: { key: 'level', at: since + 60_000 } });
  for (const path of ['stores', 'stores/subscriptions?store=settings'])
    expect((await it.get(path)).text).not.toContain('s3cret');
  expect((await it.get('stores')).json).toMatchObject({ stores: [{ block: 'configuration', subscriptions: 2 }] });
  await it.sidecar.handle(request('GET', `/v1.0/configuration/settings/${id}/unsubscribe`));
  expect((await third).value?.key).toBe('level');
  await changes.return();
  expect(await listed()).toEqual([]);
});

test('of secret stores, only the rules are told', async () => {
  process.env['INSPECTED_PASSWORD'] = 'swordfish';
  untilEnd({ [Symbol.asyncDispose]: async () => void delete process.env['INSPECTED_PASSWORD'] });
  const it = await inspected({
    components: ['open', 'closed', 'some'].map((name) => environmentSecrets(name, { prefix: 'INSPECTED_' })),
    secrets: {
      scopes: [
        { storeName: 'closed', defaultAccess: 'Deny' },
        { storeName: 'some', allowedSecrets: ['__proto__'], deniedSecrets: ['OTHER'] },
      ],
    },
  });
  expect(await it.sidecar.secrets.get('open', 'PASSWORD')).toEqual({ PASSWORD: 'swordfish' });
  const { json, text } = await it.get('stores');
  expect(text).not.toMatch(/swordfish|PASSWORD/);
  const base = { block: 'secrets', version: 'v1', type: expect.any(String) };
  expect((json as unknown as StoresReply).stores).toEqual([
    { ...base, name: 'open' },
    { ...base, name: 'closed', scope: { defaultAccess: 'deny', allowedSecrets: [], deniedSecrets: [] } },
    {
      ...base,
      name: 'some',
      scope: { defaultAccess: 'allow', allowedSecrets: ['__proto__'], deniedSecrets: ['OTHER'] },
    },
  ]);
});
