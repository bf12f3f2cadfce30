import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type {
  KeyValueOperation,
  KeyValueStore,
  OutboxPage,
  WriteCondition,
  WriteOutcome,
} from '../../src/components/key-value.ts';

const ATOMIC = { atomic: true };
const APART = { atomic: false };

/** A value of JSON. */
export const bytesOf = (text: string): Uint8Array => Buffer.from(text);

export function put(key: string, value: string, condition?: WriteCondition, ttlMs?: number): KeyValueOperation {
  const given = { ...(condition && { condition }), ...(ttlMs !== undefined && { ttlMs }) };
  return { kind: 'put', key, value: bytesOf(value), ...given };
}

export function remove(key: string, condition?: WriteCondition): KeyValueOperation {
  return { kind: 'remove', key, ...(condition && { condition }) };
}

/** Writes one operation; answers its outcome. */
export async function writeOne(store: KeyValueStore, operation: KeyValueOperation): Promise<WriteOutcome> {
  const [outcome] = await store.write([operation], APART);
  return outcome ?? { status: 'skipped' };
}

/** Puts a value; answers its ETag. */
export async function putOne(store: KeyValueStore, key: string, value: string, ttlMs?: number): Promise<string> {
  const outcome = await writeOne(store, put(key, value, undefined, ttlMs));
  expect(outcome.status).toBe('done');
  return (outcome.status === 'done' ? outcome.etag : undefined) ?? '';
}

/** The text of a value; `undefined` if there is none. */
export async function textOf(store: KeyValueStore, key: string): Promise<string | undefined> {
  const [found] = await store.read([key]);
  return found && Buffer.from(found.bytes).toString();
}

export async function etagOf(store: KeyValueStore, key: string): Promise<string | undefined> {
  return (await store.read([key]))[0]?.etag;
}

const statuses = (outcomes: readonly WriteOutcome[]): readonly string[] => outcomes.map(({ status }) => status);

/** What {@link keyValueCases} needs. */
export interface KeyValueWorld {
  /** Opens a store over what the test before has left. */
  readonly open: () => Promise<KeyValueStore>;
  /** A key that no other test uses. */
  readonly key: (name: string) => string;
  /** Default: true. */
  readonly hasOutbox?: boolean;
}

/** What every store in a format of Dapr's does, beyond `keyValueConformance`. */
export function keyValueCases({ open, key, hasOutbox = true }: KeyValueWorld): void {
  test('of many writers with one ETag, exactly one is done', async () => {
    const [one, other] = [await open(), await open()];
    const name = key('contended');
    const etag = await putOne(one, name, '0');
    const stores = Array.from({ length: 40 }, (_value, index) => (index % 2 === 0 ? one : other));
    const writes = stores.map((store, index) => writeOne(store, put(name, `"${index}"`, { etag })));
    const done = (await Promise.all(writes)).flatMap((outcome, index) => (outcome.status === 'done' ? [index] : []));
    expect(done).toHaveLength(1);
    expect(await textOf(other, name)).toBe(`"${done[0]}"`);
    await Promise.all([one.close(), other.close()]);
  });

  test('of many writers that want a key to be absent, exactly one is done', async () => {
    const [one, other] = [await open(), await open()];
    const name = key('first');
    const stores = Array.from({ length: 40 }, (_value, index) => (index % 2 === 0 ? one : other));
    const outcomes = await Promise.all(stores.map((store, index) => writeOne(store, put(name, `${index}`, 'absent'))));
    expect(outcomes.filter(({ status }) => status === 'done')).toHaveLength(1);
    await Promise.all([one.close(), other.close()]);
  });

  test('transactions over the same keys in opposite order all end, each as a whole', async () => {
    const [one, other] = [await open(), await open()];
    const names = Array.from({ length: 12 }, (_value, index) => key(`k${index}`));
    const run = async (store: KeyValueStore, keys: readonly string[], mark: string): Promise<void> => {
      for (let round = 0; round < 15; round++) {
        const value = `"${mark}${round}"`;
        const written = await store.write(
          keys.map((name) => put(name, value)),
          ATOMIC,
        );
        expect(new Set(statuses(written))).toEqual(new Set(['done']));
        if (round % 5 === 4)
          await store.write(
            keys.map((name) => remove(name)),
            ATOMIC,
          );
        const found = (await store.read(names)).map((value) => value && Buffer.from(value.bytes).toString());
        expect(new Set(found).size).toBe(1);
      }
    };
    const reversed = names.toReversed();
    await Promise.all([
      ...[run(one, names, 'a'), run(other, reversed, 'b')],
      ...[run(one, reversed, 'c'), run(other, names, 'd')],
    ]);
    await Promise.all([one.close(), other.close()]);
  });

  test('a refused transaction writes nothing, and says what was refused', async () => {
    const store = await open();
    const [a, b, c] = [key('a'), key('b'), key('c')];
    const etag = await putOne(store, a, '1');
    await putOne(store, b, '1');
    const wrong = [put(a, '2', { etag }), remove(b, { etag: `${etag}0` }), put(c, '2', 'absent')];
    expect(statuses(await store.write(wrong, ATOMIC))).toEqual(['skipped', 'refused', 'skipped']);
    expect(await Promise.all([a, b, c].map((name) => textOf(store, name)))).toEqual(['1', '1', undefined]);
    expect(statuses(await store.write(wrong, APART))).toEqual(['done', 'refused', 'done']);
    expect(await Promise.all([a, b, c].map((name) => textOf(store, name)))).toEqual(['2', '1', '2']);
    await store.close();
  });

  test('every write gives another ETag, also after a delete, and a put without a change', async () => {
    const store = await open();
    const name = key('etags');
    const seen: string[] = [];
    for (let round = 0; round < 30; round++) {
      seen.push(await putOne(store, name, '1'));
      expect(await etagOf(store, name)).toBe(seen.at(-1));
      if (round % 3 === 0) await writeOne(store, remove(name));
    }
    const calls = [put(name, '1'), remove(name), put(name, '1'), remove(name), put(name, '1')];
    for (const outcome of await Promise.all(calls.map((call) => writeOne(store, call))))
      if (outcome.status === 'done' && outcome.etag) seen.push(outcome.etag);
    expect(new Set(seen).size).toBe(33);
    await store.close();
  });

  test('a TTL is told, ends the key, and is cleared by a put without one', async () => {
    const store = await open();
    const [short, kept, long] = [key('short'), key('kept'), key('long')];
    const before = Date.now();
    await Promise.all([putOne(store, short, '1', 1_000), putOne(store, kept, '1', 1_000)]);
    await putOne(store, long, '1', 2_147_483_647_000);
    const etag = await etagOf(store, short);
    const [told, , far] = await store.read([short, kept, long]);
    expect(told?.expiresAt).toBeGreaterThanOrEqual(before + 900);
    expect(told?.expiresAt).toBeLessThan(Date.now() + 2_001);
    expect(Math.abs((far?.expiresAt ?? 0) - before - 2_147_483_647_000)).toBeLessThan(60_000);
    await putOne(store, kept, '2');
    expect((await store.read([kept]))[0]).not.toHaveProperty('expiresAt');
    await pause(1_100);
    expect(await store.read([short, short])).toEqual([undefined, undefined]);
    expect(await textOf(store, kept)).toBe('2');
    expect((await writeOne(store, put(short, '2', { etag: etag ?? '' }))).status).toBe('refused');
    expect((await writeOne(store, remove(short, { etag: etag ?? '' }))).status).toBe('refused');
    expect((await writeOne(store, put(short, '3', 'absent'))).status).toBe('done');
    expect((await store.read([short]))[0]).not.toHaveProperty('expiresAt');
    await store.close();
  });

  test('takes keys and values of every kind', async () => {
    const store = await open();
    const names = ['__proto__', 'ä😀', 'a b/c', "'; DROP TABLE state; --", '%_', 'x'.repeat(500)].map(key);
    const value = '{"n":0.1234567890123,"t":"ä😀\\"\'\\\\"}';
    await store.write(
      names.map((name) => put(name, value)),
      APART,
    );
    const found = await store.read([...names, key('missing'), names[0] ?? '']);
    const texts = found.map((one) => one && JSON.parse(Buffer.from(one.bytes).toString()));
    const parsed = JSON.parse(value);
    expect(texts).toEqual([...names.map(() => parsed), undefined, parsed]);
    await store.close();
  });

  test('keeps binary values as they are', async () => {
    const store = await open();
    const name = key('binary');
    const value = Buffer.from(Array.from({ length: 256 }, (_value, index) => index));
    await store.write([{ kind: 'put', key: name, value, isBinary: true }], ATOMIC);
    expect(Buffer.from((await store.read([name]))[0]?.bytes ?? []).equals(value)).toBe(true);
    await store.close();
  });

  test('a value of 3 MB, and 10,000 operations in one transaction, of new keys and of old ones', async () => {
    const store = await open();
    const name = key('large');
    await putOne(store, name, JSON.stringify('x'.repeat(3_000_000)));
    expect((await textOf(store, name))?.length).toBe(3_000_002);
    const names = Array.from({ length: 10_000 }, (_value, index) => key(`many${index}`));
    for (const value of ['1', '2']) {
      const outcomes = await store.write(
        names.map((one) => put(one, value)),
        ATOMIC,
      );
      expect(new Set(statuses(outcomes))).toEqual(new Set(['done']));
    }
    expect((await store.read(names)).filter((one) => one !== undefined)).toHaveLength(10_000);
    const apart = await store.write(
      names.map((one) => remove(one, 'absent')),
      APART,
    );
    expect(new Set(statuses(apart))).toEqual(new Set(['refused']));
    await store.close();
  });

  test.runIf(hasOutbox)('events are left with their transaction only, in the order of the commits', async () => {
    const [one, other] = [await open(), await open()];
    const name = key('with-event');
    const place = key('event');
    const idOf = (n: number): string => `${place}-${n}`;
    const leave = (store: KeyValueStore, n: number, condition?: WriteCondition): Promise<readonly WriteOutcome[]> =>
      store.write([put(name, '1', condition)], { ...ATOMIC, events: [{ id: idOf(n), bytes: bytesOf(`event ${n}`) }] });
    const own = async (store: KeyValueStore): Promise<readonly string[]> => {
      const { events = [] } = (await store.outbox?.read()) ?? {};
      return events.map(({ id }) => id).filter((id) => id.startsWith(place));
    };
    await leave(one, 2);
    await leave(one, 3, 'absent');
    await leave(other, 1);
    expect(await own(one)).toEqual([idOf(2), idOf(1)]);
    await other.outbox?.remove([idOf(2)]);
    expect(await own(one)).toEqual([idOf(1)]);
    await one.outbox?.remove([idOf(1), idOf(1)]);
    expect(await own(other)).toEqual([]);
    await Promise.all([one.close(), other.close()]);
  });

  test.runIf(hasOutbox)(
    'events of a key that two clients create and change are in the order of its values',
    async () => {
      const [one, other] = [await open(), await open()];
      const place = key('raced');
      for (let round = 0; round < 10; round++) {
        const name = `${place}-${round}`;
        const values = Array.from({ length: 12 }, (_value, index) => `${name}-${index}`);
        await Promise.all(
          values.map((id, index) =>
            (index % 2 === 0 ? one : other).write([put(name, JSON.stringify(id))], {
              ...ATOMIC,
              events: [{ id, bytes: bytesOf(id) }],
            }),
          ),
        );
        const ids: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page: OutboxPage | undefined = await one.outbox?.read(cursor);
          ids.push(...(page?.events ?? []).map(({ id }) => id).filter((id) => values.includes(id)));
          cursor = page?.cursor;
          if (cursor === undefined) break;
        }
        expect(ids).toHaveLength(values.length);
        expect(JSON.stringify(ids.at(-1))).toBe(await textOf(one, name));
        await one.outbox?.remove(ids);
      }
      await Promise.all([one.close(), other.close()]);
    },
  );

  test('writes of a key that do not wait for each other are made in the order of the calls', async () => {
    const store = await open();
    const name = key('in-order');
    const others = Array.from({ length: 5 }, (_value, index) => key(`beside${index}`));
    for (let round = 0; round < 40; round++) {
      const place = key(`in-order-${round}`);
      const events = hasOutbox ? { events: [{ id: place, bytes: bytesOf('event') }] } : {};
      await Promise.all([
        store.write([put(name, '"first"'), ...others.map((one) => put(one, '1'))], { ...ATOMIC, ...events }),
        ...others.map((one) => store.write([put(one, `"${round}"`)], APART)),
        store.write([put(name, '"second"')], APART),
        store.write([put(name, `"last ${round}"`)], ATOMIC),
      ]);
      expect(await textOf(store, name)).toBe(`"last ${round}"`);
      expect(await Promise.all(others.map((one) => textOf(store, one)))).toEqual(others.map(() => `"${round}"`));
      await store.outbox?.remove([place]);
    }
    await store.close();
  });

  test('plain and conditional writes over the same keys in opposite order, old and new, all end', async () => {
    const [one, other] = [await open(), await open()];
    const names = Array.from({ length: 12 }, (_value, index) => key(`m${index}`));
    const plain = async (store: KeyValueStore, keys: readonly string[]): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        const puts = keys.map((name) => put(name, `"${round}"`));
        expect(new Set(statuses(await store.write(puts, APART)))).toEqual(new Set(['done']));
      }
    };
    const conditional = async (store: KeyValueStore, keys: readonly string[]): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        const found = await store.read(keys);
        const change = (name: string, at: number): KeyValueOperation => {
          const condition = found[at] === undefined ? 'absent' : { etag: found[at]?.etag ?? '' };
          return round % 2 === 0 ? put(name, `"${round}"`, condition) : remove(name, condition);
        };
        expect(await store.write(keys.map(change), APART)).toHaveLength(keys.length);
      }
    };
    const reversed = names.toReversed();
    await Promise.all([
      ...[plain(one, names), plain(other, reversed)],
      ...[conditional(one, reversed), conditional(other, names)],
    ]);
    await Promise.all([one.close(), other.close()]);
  });

  test('refuses calls after its close, which may be called twice and waits for calls in flight', async () => {
    const store = await open();
    const name = key('closed');
    const writing = putOne(store, name, '1');
    await Promise.all([store.close(), store.close()]);
    await writing;
    await expect(store.read([name])).rejects.toThrow('closed');
    await expect(store.write([put(name, '2')], ATOMIC)).rejects.toThrow('closed');
  });
}
