import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { jsonTextOf, requiredJsonText } from '../../src/util/json-value.ts';

const cyclic: { list: unknown[] } = { list: [{}] };
cyclic.list.push(cyclic);

const shared = { a: 1 };

class Cart {
  readonly items = ['book'];
  get total(): number {
    return this.items.length;
  }
}
class Money {
  readonly currency = 'EUR';
  #cents = 5;
  get(): number {
    return this.#cents;
  }
}
class Bag {
  *[Symbol.iterator](): Generator<number> {
    yield 1;
  }
}
/** Its state is all in its fields. */
class Point {
  x = 1;
  #sum(): number {
    return this.x;
  }
  sum(): number {
    return this.#sum();
  }
}

test.each<[what: string, value: unknown, problem: string]>([
  ['NaN', Number.NaN, 'is NaN'],
  ['an infinity in a list', { items: [1, { price: Number.NEGATIVE_INFINITY }] }, 'has -Infinity at items[1].price'],
  ['a Map', new Map([['a', 1]]), 'is a Map'],
  ['a Set below a name that is no identifier', { 'a b': new Set() }, 'has a Set at ["a b"]'],
  ['a Map of another realm', { map: runInNewContext('new Map()') }, 'has a Map at map'],
  ['a promise that was not waited for', { user: Promise.resolve(1) }, 'has a Promise at user'],
  ['an Error', { why: new TypeError('declined') }, 'has an Error at why'],
  ['a regular expression', { pattern: /a+/ }, 'has a RegExp at pattern'],
  ['an ArrayBuffer', [new ArrayBuffer(8)], 'has an ArrayBuffer at [0]'],
  ['URLSearchParams', new URLSearchParams('a=1'), 'is a URLSearchParams'],
  ['an invalid Date', { at: new Date(Number.NaN) }, 'has an invalid Date at at'],
  ['a function', () => 1, 'is a function'],
  ['a method', { a: { run() {} } }, 'has a function at a.run'],
  ['a symbol', [[Symbol('x')]], 'has a symbol at [0][0]'],
  ['a BigInt', { order: { id: 1n } }, 'has a BigInt at order.id'],
  ['a cycle', cyclic, 'has a cycle at list[1]'],
  ['a getter', { cart: new Cart() }, 'has a Cart with the getter total at cart'],
  ['an inherited getter', new (class Special extends Cart {})(), 'is a Special with the getter total'],
  ['a private field', [new Money()], 'has a Money with the private field #cents at [0]'],
  ['a collection', { bag: new Bag() }, 'has a Bag with items of its own at bag'],
  ['an iterator', [1].values(), 'is an Array Iterator with items of its own'],
])('%s is refused, and the error says where it is', (_what, value, problem) => {
  expect(() => jsonTextOf(value)).toThrow(new Error(`${problem}: JSON cannot hold it`));
});

test.each<[what: string, value: unknown]>([
  ['plain values', { a: 'x', b: [1, -0.5, true, null], c: { d: {} } }],
  [
    'dates and what else has toJSON',
    { at: new Date(0), bytes: Buffer.from('x'), map: Object.assign(new Map(), { toJSON: () => 1 }) },
  ],
  ['properties that are undefined', { a: undefined, b: [undefined] }],
  [
    'objects of classes and without a prototype',
    [
      new (class Order {
        id = 1;
      })(),
      Object.assign(Object.create(null), { a: 1 }),
    ],
  ],
  ['objects of classes with methods only, private ones too', [new Point(), new (class extends Point {})()]],
  ['objects of another realm', runInNewContext('[{ a: 1 }, new (class { a = 1 })(), new Date(0)]')],
  ['boxed values', [new String('x'), new Number(1), new Boolean(true)]],
  [
    'objects with getters of their own',
    {
      get a() {
        return 1;
      },
    },
  ],
  [
    'a class with a getter and toJSON',
    new (class extends Cart {
      toJSON() {
        return this.items;
      }
    })(),
  ],
  ['the same object twice', [shared, shared, { shared }]],
  ['keys of the prototype', JSON.parse('{"__proto__":{"constructor":1},"toString":2}')],
  ['errors with fields of their own', { reason: Object.assign(new Error('no'), { code: 'E_NO' }) }],
  ['text', 'x'],
])('%s are as JSON.stringify writes them', (_what, value) => {
  expect(jsonTextOf(value)).toBe(JSON.stringify(value));
});

test('undefined has no text', () => {
  expect(jsonTextOf(undefined)).toBeUndefined();
});

test('what is nested too deeply for JSON is refused, not the end of the process', () => {
  const depth = 100_000;
  let deep: unknown = 1;
  for (let level = 0; level < depth; level++) deep = [deep];
  // From Node 26 on nothing is too deep.
  if (Number.parseInt(process.versions.node, 10) >= 26) expect(jsonTextOf(deep)).toHaveLength(2 * depth + 1);
  else expect(() => jsonTextOf(deep)).toThrow('has no JSON form');
});

test('what throws while it is written is the cause', () => {
  const cause = new Error('no');
  const value = {
    toJSON() {
      throw cause;
    },
  };
  expect(() => jsonTextOf(value)).toThrow(expect.objectContaining({ message: 'has no JSON form', cause }));
});

test.each([0, 1])('a getter that throws after %d reads is the cause', (reads) => {
  const cause = new Error('not for the caller');
  let left = reads;
  const value = {
    get price() {
      if (left-- <= 0) throw cause;
      return 1;
    },
  };
  expect(() => jsonTextOf(value)).toThrow(expect.objectContaining({ message: 'has no JSON form', cause }));
});

test('a value that needs a JSON form is refused with the words and the cause of the problem', () => {
  const refuse = (problem: string, cause?: unknown): Error => new Error(`data ${problem}`, { cause });
  expect(requiredJsonText({ a: 1 }, 'JSON', refuse)).toBe('{"a":1}');
  expect(() => requiredJsonText(undefined, 'JSON', refuse)).toThrow(new Error('data is undefined: expected JSON'));
  expect(() => requiredJsonText([1n], 'JSON', refuse)).toThrow(
    expect.objectContaining({ message: 'data has a BigInt at [0]: JSON cannot hold it', cause: expect.any(Error) }),
  );
});
