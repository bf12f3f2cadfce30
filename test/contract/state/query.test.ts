import { describe, expect, test } from 'vitest';
import { keyValueStore } from '../../../src/index.ts';
import { type StateWorld, startStateWorld } from '../../support/state-world.ts';

const DOCUMENTS: Readonly<Record<string, string>> = {
  a: '{"n":5,"town":"Ulm","in":{"deep":true},"tags":[1,2]}',
  b: '{"n":100,"town":"Bonn"}',
  c: '{"n":9.0,"town":"Ulm"}',
  d: '{"n":"5","town":null}',
  e: '{"n":12345678901234567890}',
  f: '{"n":12345678901234567891,"in":{"x":1,"y":2}}',
  g: '"a text"',
  h: '{"n":-1e-3,"n.dot":1}',
};

async function startWorld(): Promise<StateWorld> {
  const world = await startStateWorld({ components: [keyValueStore('other', { keyPrefix: 'theirs' })] });
  const items = Object.entries(DOCUMENTS).map(([key, value]) => `{"key":"${key}","value":${value}}`);
  await world.send('POST', '/v1.0/state/memory', `[${items.join()}]`);
  await world.send('POST', '/v1.0/state/memory', [{ key: 'gone', value: { n: 5 }, metadata: { ttlInSeconds: '1' } }]);
  await world.clock.advance(1_000);
  return world;
}

interface Page {
  readonly results: readonly { readonly key: string }[];
  readonly token?: string;
}

async function keysOf(world: StateWorld, body: string | object): Promise<readonly string[]> {
  const { status, json, text } = await world.send('POST', '/v1.0-alpha1/state/memory/query', body);
  if (status === 204) return [];
  if (status !== 200) throw new Error(text);
  return (json as Page).results.map(({ key }) => key);
}

describe('a query', () => {
  test.each([
    ['{"EQ":{"n":5}}', 'a'],
    ['{"EQ":{"n":5.0e0}}', 'a'],
    ['{"EQ":{"n":"5"}}', 'd'],
    ['{"EQ":{"town":null}}', 'd'],
    ['{"EQ":{"n":9}}', 'c'],
    ['{"EQ":{"n":12345678901234567890}}', 'e'],
    ['{"GT":{"n":12345678901234567890}}', 'f'],
    ['{"GT":{"n":9}}', 'bef'],
    ['{"GTE":{"n":9}}', 'bcef'],
    ['{"LT":{"n":5}}', 'h'],
    ['{"LTE":{"n":-0.001}}', 'h'],
    ['{"EQ":{"in.deep":true}}', 'a'],
    ['{"EQ":{"in":{"y":2.0,"x":1}}}', 'f'],
    ['{"EQ":{"tags":[1,2]}}', 'a'],
    ['{"EQ":{"tags":[2,1]}}', ''],
    ['{"NEQ":{"town":"Ulm"}}', 'bdefgh'],
    ['{"IN":{"town":["Bonn",null]}}', 'bd'],
    ['{"AND":[{"EQ":{"town":"Ulm"}},{"GT":{"n":5}}]}', 'c'],
    ['{"OR":[{"EQ":{"n":5}},{"AND":[{"EQ":{"town":"Bonn"}},{"LT":{"n":1e3}}]}]}', 'ab'],
    ['{"EQ":{"__proto__":1}}', ''],
    ["{\"EQ\":{\"c' = 'x' OR '1'='1' OR value->>'c\":1}}", ''],
  ])('%s finds %j', async (filter, expected) => {
    await using world = await startWorld();
    expect((await keysOf(world, `{"filter":${filter}}`)).join('')).toBe(expected);
  });

  test.each([
    ['[{"key":"n"}]'],
    ['[{"key":"n","order":"DESC"}]'],
    ['[{"key":"town","order":"ASC"},{"key":"n","order":"DESC"}]'],
  ])('sorts by %s, without the path last, page by page as at once', async (sort) => {
    await using world = await startWorld();
    const whole = await keysOf(world, `{"sort":${sort}}`);
    expect(whole).toHaveLength(8);
    const found: string[] = [];
    let token: string | undefined = '';
    while (token !== undefined) {
      const body: string = `{"sort":${sort},"page":{"limit":3,"token":"${token}"}}`;
      const { json, status } = await world.send('POST', '/v1.0-alpha1/state/memory/query', body);
      if (status === 204) break;
      found.push(...(json as Page).results.map(({ key }) => key));
      token = (json as Page).token;
    }
    expect(found).toEqual(whole);
    expect(found.at(-1)).toBe('g');
  });

  test('sorts numbers as numbers', async () => {
    await using world = await startWorld();
    const keys = await keysOf(world, { sort: [{ key: 'n' }], filter: { GT: { n: -5 } } });
    expect(keys.join('')).toBe('hacbef');
    const back = await keysOf(world, { sort: [{ key: 'n', order: 'DESC' }], filter: { GT: { n: -5 } } });
    expect(back.join('')).toBe('febcah');
  });

  test('returns data with every digit, and ETags', async () => {
    await using world = await startWorld();
    const { text, json } = await world.send(
      'POST',
      '/v1.0-alpha1/state/memory/query',
      '{"filter":{"EQ":{"n":12345678901234567891}}}',
    );
    expect(text).toContain(`"data":${DOCUMENTS['f']}`);
    const { headers } = await world.send('GET', '/v1.0/state/memory/f');
    expect(json).toMatchObject({ results: [{ key: 'f', etag: headers['etag'] }] });
  });

  test('finds keys of its own prefix only', async () => {
    const mine = keyValueStore('shared');
    await using world = await startStateWorld({
      components: [mine, { ...mine, name: 'theirs', options: { keyPrefix: 'shop2' } }],
    });
    await world.save('shared', 'a');
    await world.save('theirs', 'b');
    const { json } = await world.send('POST', '/v1.0-alpha1/state/theirs/query', {});
    expect((json as Page).results.map(({ key }) => key)).toEqual(['b']);
  });

  test('without a prefix, finds no keys of other applications in the same store', async () => {
    const shared = keyValueStore('shared');
    await using world = await startStateWorld({
      components: [shared, { ...shared, name: 'all', options: { keyPrefix: 'none' } }],
    });
    await world.save('shared', 'a');
    await world.save('all', 'b');
    const { json } = await world.send('POST', '/v1.0-alpha1/state/all/query', {});
    expect((json as Page).results.map(({ key }) => key)).toEqual(['b']);
  });

  test.each([
    '[]',
    '{"filter":5}',
    '{"filter":{}}',
    '{"filter":{"EQ":{"a":1},"NEQ":{"a":1}}}',
    '{"filter":{"EQ":{"a":1,"b":2}}}',
    '{"filter":{"EQ":{}}}',
    '{"filter":{"LIKE":{"a":1}}}',
    '{"filter":{"GT":{"a":"5"}}}',
    '{"filter":{"GT":{"a":null}}}',
    '{"filter":{"IN":{"a":[]}}}',
    '{"filter":{"IN":{"a":5}}}',
    '{"filter":{"AND":[{"EQ":{"a":1}}]}}',
    '{"filter":{"OR":{}}}',
    '{"filter":{"EQ":{"..":1}}}',
    '{"filter":{"EQ":{"":1}}}',
    '{"filter":{"EQ":{"a.":1}}}',
    '{"sort":{}}',
    '{"sort":[{}]}',
    '{"sort":[{"key":"a","order":"UP"}]}',
    '{"page":{"limit":0}}',
    '{"page":{"limit":1001}}',
    '{"page":{"limit":1e2}}',
    '{"page":{"limit":"5"}}',
    '{"page":{"token":"x"}}',
    '{"page":{"token":5}}',
    `{"filter":${'{"OR":[{"EQ":{"a":1}},'.repeat(16)}{"EQ":{"a":1}}${']}'.repeat(16)}}`,
    `{"filter":{"OR":[${Array.from({ length: 100 }, () => '{"EQ":{"a":1}}').join()}]}}`,
  ])('%s is refused', async (body) => {
    await using world = await startWorld();
    const answer = await world.send('POST', '/v1.0-alpha1/state/memory/query', body);
    expect(answer.error).toEqual([400, 'ERR_STATE_QUERY']);
  });

  test('a token belongs to one filter and sort order', async () => {
    await using world = await startWorld();
    const { json } = await world.send('POST', '/v1.0-alpha1/state/memory/query', { page: { limit: 2 } });
    const { token } = json as Page;
    expect((await keysOf(world, { page: { limit: 2, token } })).join('')).toBe('cd');
    const other = { filter: { GT: { n: 0 } }, page: { limit: 2, token } };
    const answer = await world.send('POST', '/v1.0-alpha1/state/memory/query', other);
    expect(answer.error).toEqual([400, 'ERR_STATE_QUERY']);
  });

  test('in code', async () => {
    await using world = await startWorld();
    const { state } = world.sidecar;
    const page = await state.query<{ n: number }>('memory', { filter: { EQ: { town: 'Ulm' } }, limit: 1 });
    expect(page.results).toEqual([expect.objectContaining({ key: 'a', value: expect.objectContaining({ n: 5 }) })]);
    const next = await state.query('memory', { filter: { EQ: { town: 'Ulm' } }, limit: 5, token: page.token });
    expect(next.results.map(({ key }) => key)).toEqual(['c']);
    expect(next.token).toBeUndefined();
  });
});
