import { describe, expect, test } from 'vitest';
import { compileMatch } from '../../../../src/blocks/pubsub/delivery/rules.ts';
import { TooManySteps } from '../../../../src/util/cel-budget.ts';

const event: unknown = JSON.parse(
  '{"type":"order.created","source":"shop","data":{"amount":5,"price":1.5,"name":"abc","tags":["old","new"],"nested":{"deep":{"n":1}}}}',
);

describe('match expressions', () => {
  test.each<[expression: string, holds: boolean]>([
    ['', true],
    [' \n ', true],
    ['true', true],
    ['false', false],
    ['event.type == "order.created"', true],
    ["event.type == 'order.created'", true],
    ['event.type != "order.created"', false],
    ['event["type"] == "order.created"', true],
    ['event.type.startsWith("order.") && event.type.endsWith("created")', true],
    ['event.type.contains("nope")', false],
    ['event.data.amount == 5', true],
    ['event.data.amount == 5.0', true],
    ['5 == event.data.amount', true],
    ['event.data.amount > 4', true],
    ['event.data.amount >= 5.5', false],
    ['event.data.amount != 5', false],
    ['event.data.price < 2', true],
    ['event.data.price * 2.0 == 3.0', true],
    ['event.data.nested.deep.n == 1', true],
    ['event.data.tags[0] == "old"', true],
    ['"new" in event.data.tags', true],
    ['"name" in event.data', true],
    ['has(event.data.name)', true],
    ['has(event.data.nope)', false],
    ['has(event.data.constructor)', false],
    ['has(event.hasOwnProperty)', false],
    ['!has(event.subject) || event.subject == "x"', true],
    ['event.data.tags.all(t, t.size() == 3)', true],
    ['event.data.name.matches("^[a-c]{3}$")', true],
    ['matches(event.type, "^order[.]")', true],
    ['matches(event.type, "^created")', false],
    ['!matches(event.type, "^created") && event.type.matches("d$")', true],
    ['event.type.matches("(?i)^ORDER") && event.type.matches("^ORDER")', false],
    ['event.type.matches("(?i)^ORDER") || event.type.matches("^ORDER")', true],
    ['event.data.amount > 3 ? event.type == "order.created" : false', true],
    ['event.type in ["order.created", 1]', true],
    ['event.data.amount in [1, 5.0]', true],
    ['event.data.amount in ["5", 1]', false],
    ['event.type in ["b", event.source]', false],
    ['event.type in ["b", event.type]', true],
  ])('%s: %s', (expression, holds) => {
    expect(compileMatch(expression)(event)).toBe(holds);
  });

  test.each<[expression: string, event: string, holds: boolean]>([
    ['event.data.amount == 5', '{"data":{"amount":5,"constructor":"Acme"}}', true],
    ['event.data.amount == 5', '{"data":{"amount":6,"constructor":"Acme"}}', false],
    ['event.data.amount == 5', '{"data":{"amount":5,"constructor":null}}', true],
    ['event.data.amount == 5', '{"data":{"amount":5,"constructor":{"constructor":[1]}}}', true],
    ['event.data.amount == null', '{"data":{"amount":null,"constructor":"Acme"}}', true],
    ['event.type == "a" && event.data.amount == 5', '{"type":"a","constructor":"x","data":{"amount":5}}', true],
    ['event.data[1].amount == 5', '{"data":[1,{"amount":5,"constructor":"Acme"}]}', true],
    ['event.data.exists(d, d.amount == 5)', '{"data":[{"amount":5,"constructor":"Acme"},{}]}', true],
    ['event.data.exists(d, d.amount == 5)', '{"data":[{},{"amount":5,"constructor":"Acme"}]}', true],
    ['event.data.amount == 5 || event.nope == 1', '{"data":{"amount":5,"constructor":"Acme"}}', true],
    ['event.data.constructor == "Acme"', '{"data":{"constructor":"Acme"}}', true],
    ['has(event.data.constructor)', '{"data":{"constructor":"Acme"}}', true],
    ['has(event.data.amount)', '{"data":{"amount":5,"constructor":null}}', true],
    ['has(event.data.nope)', '{"data":{"constructor":"Acme"}}', false],
    ['has(event.data.hasOwnProperty)', '{"data":{"constructor":"Acme"}}', false],
    ['"amount" in event.data', '{"data":{"amount":5,"constructor":"Acme"}}', true],
    ['size(event.data) == 2', '{"data":{"amount":5,"constructor":"Acme"}}', true],
    ['event.data.a == event.data.b', '{"data":{"a":{"constructor":1},"b":{"constructor":1.0}}}', true],
    ['event.data.a == event.data.b', '{"data":{"a":{"constructor":1},"b":{"x":1}}}', false],
    ['event.data.a == {"constructor": 1}', '{"data":{"a":{"x":1},"constructor":1}}', false],
  ])('a member named constructor is one like any other: %s of %s: %s', (expression, text, holds) => {
    const given: unknown = JSON.parse(text);
    const matches = compileMatch(expression);
    expect([matches(given), matches(given)]).toEqual([holds, holds]);
    expect(given).toEqual(JSON.parse(text));
  });

  test('a member named constructor is found in an event however deep it is nested', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const given: unknown = JSON.parse(`{"data":{"deep":${deep},"amount":5,"constructor":"Acme"}}`);
    expect(compileMatch('event.data.amount == 5')(given)).toBe(true);
    expect(() => compileMatch('event.data.nope == 5')(given)).toThrow(/No such key: nope/);
  });

  test('an event that is no object cannot be evaluated', () => {
    for (const given of [null, 1, 'text', [], undefined])
      expect(() => compileMatch('event.data == 5')(given)).toThrow();
  });

  test.each([
    ['a missing key', 'event.nope == "x"'],
    ['a missing key below', 'event.data.nested.nope.n == 1'],
    ['a key of a value that is no map', 'event.type.length == 3'],
    ['an inherited key', 'event.data.constructor == "x"'],
    ['a result that is no boolean', 'event.type'],
    ['arithmetic over int and double', 'event.data.amount + 1 == 6'],
  ])('%s cannot be evaluated: %s', (_, expression) => {
    const matches = compileMatch(expression);
    expect(() => matches(event)).toThrow();
    expect(() => matches(event)).toThrow();
  });

  test.each([
    ['syntax', 'event.type =='],
    ['an open bracket', '(event.type == "a"'],
    ['an unknown name', 'type == "a"'],
    ['an unknown function', 'nope(event.type)'],
    ['a result of another type', '"text"'],
    ['a number', '1 + 1'],
    ['comparing text with a number', '"a" == 1 && "a" > 1'],
    ['an assignment', 'event.type = "a"'],
    ['JavaScript', 'event.type === "a"'],
  ])('%s is refused: %s', (_, expression) => {
    expect(() => compileMatch(expression)).toThrow(/^match expression /);
  });

  test.each([
    ['event.data.name.matches("(a+)+$")', true],
    ['event.data.tags.exists(t, t.matches("^(([a-z])+.)+[A-Z]([a-z])+$"))', false],
    ['event.type == "a" || (true && !event.data.name.matches("(a+)+$"))', false],
    ['(event.type == "a" ? [event.type.matches("(a+)+$")] : [true])[0]', true],
    ['matches(event.data.name, "(?i)(?:a|A)*!$")', false],
    ['event.data.name.matches("^(\\\\w+\\\\s?)*!$")', false],
    ['event.data.name.matches("^(?:\\\\pL+)+$")', true],
  ])('a pattern that could backtrack for very long is taken, and answers at once: %s: %s', (expression, holds) => {
    const name = 'a'.repeat(10_000);
    expect(compileMatch(expression)({ type: 'b', data: { name, tags: [name] } })).toBe(holds);
  });

  test.each(['^order\\\\..+$', '^[a-z0-9-]{1,36}$', '^(created|updated|deleted)$', 'abc', '^\\\\d{4}-\\\\d{2}$', ''])(
    'the pattern %s is taken',
    (pattern) => {
      expect(() => compileMatch(`event.data.name.matches("${pattern}")`)).not.toThrow();
    },
  );

  test('a pattern that is not a regular expression is refused', () => {
    expect(() => compileMatch('event.type.matches("[")')).toThrow(
      'match expression "event.type.matches(\\"[\\")": pattern "[" is not a regular expression of CEL (RE2): missing closing ] in [',
    );
  });

  test.each([
    'event.type.matches(event.data.name)',
    'event.type.matches("a" + event.data.name)',
    'matches(event.type, event.data.name)',
  ])('a pattern that is not a literal is refused: %s', (expression) => {
    expect(() => compileMatch(expression)).toThrow(/literal pattern/);
  });

  test('an expression of unreasonable size is refused', () => {
    expect(() => compileMatch(Array(2_000).fill('true').join(' && '))).toThrow(/^match expression /);
    expect(() => compileMatch(`${'('.repeat(200)}true${')'.repeat(200)}`)).toThrow(/^match expression /);
  });
});

describe('an evaluation takes a bounded number of steps', () => {
  const numbers = Array.from({ length: 6_000 }, (_, at) => at);
  const orders = Array.from({ length: 15_000 }, (_, at) => ({ sku: `s${at}`, quantity: at }));
  const text = 'a'.repeat(500_000);
  const keys = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`k${at}`, at]));
  const doubled = (times: number) => `${'cel.bind(t, t + t, '.repeat(times)}t.contains("b")${')'.repeat(times)}`;

  test.each<[expression: string, data: unknown]>([
    ['event.data.all(x, event.data.exists_one(y, x == y))', numbers],
    ['event.data.exists(x, event.data.map(y, y + x).size() == 1)', numbers],
    ['event.data.filter(x, event.data.filter(y, x == y).size() == 2).size() == 1', numbers],
    ['event.data.all(x, !(x in event.data.map(y, -1.0)))', numbers],
    ['event.data.all(x, event.data != event.data.map(y, y + 1.0))', numbers],
    ['event.data.all(x, (event.data + event.data).size() > 1)', numbers],
    ['event.data.exists(x, x.nope == 1)', orders],
    ['event.data.exists(x, x.nope == 1 || x.quantity < 0)', orders],
    ['event.data.all(x, timestamp("2026-01-01T00:00:00Z").getHours("Europe/Rome") < 24)', orders],
    ['event.data.all(x, x.sku.split("").size() > 0)', [...orders, ...orders]],
    ['event.data.text.contains(event.data.part)', { text, part: `${'a'.repeat(2_500)}b${'a'.repeat(2_500)}` }],
    ['event.data.text.lastIndexOf(event.data.part) == 1', { text, part: `${'a'.repeat(5_000)}b` }],
    ['event.data.text.split("").size() > 1 && event.data.text.split("").size() > 1', { text }],
    ['event.data.lines.all(x, event.data.text == event.data.same)', { lines: numbers, text, same: `${text}` }],
    ['duration(event.data) < duration("5m")', '1'.repeat(1_000)],
    ['event.data.matches("^a{100}b")', text.slice(0, 20_000)],
    ['matches(event.data, "^(a|b)*c$")', text],
    ['event.data.exists(x, "aaaaaaaaaa".matches("[ab]{90}c"))', numbers],
    ['event.data.exists(key, key == "a")', keys],
    ['size(event.data) == 1', keys],
    [
      '[1].all(x, event.data.a == event.data.b && event.data.a == event.data.b)',
      { a: orders, b: structuredClone(orders) },
    ],
    [`[event.data].exists(t, ${doubled(22)})`, 'some text that grows'],
    [Array.from({ length: 150 }, (_, at) => `event.data.contains("x${at}")`).join(' || '), text],
  ])('%s', (expression, data) => {
    const matches = compileMatch(expression);
    expect(() => matches({ data })).toThrow(/takes more than 250000 steps for this event/);
    expect(() => matches({ data })).toThrow(TooManySteps);
    expect(() => matches({ data: '' })).not.toThrow(TooManySteps);
  });

  test.each<[expression: string, data: unknown, holds: boolean]>([
    ['event.data.exists(x, x.sku == "s14999" && x.quantity > 3)', orders, true],
    ['event.data.exists(x, event.data.size() == 6000 && x == 5999.0)', numbers, true],
    ['event.data.text.contains("b") || event.data.text.size() == 400000', { text: text.slice(0, 400_000) }, true],
    ['event.data.matches("(?i)^a.*b?$")', text.slice(0, 40_000), true],
    ['event.data.k7 == 7', keys, true],
    ['event.data == 7', keys, false],
    ['event.data.all(x, event.data != x && event != event.data && !(event.data in []))', numbers, true],
    ['event.data.all(x, event.data.map(y, y) == event.data)', numbers.slice(0, 100), true],
  ])('a plain rule for a large event: %s', (expression, data, holds) => {
    expect(compileMatch(expression)({ data })).toBe(holds);
  });

  test('an expression without large values is evaluated as often as one likes', () => {
    const matches = compileMatch('event.data.exists(x, x == 5999.0)');
    for (let count = 0; count < 50; count++) expect(matches({ data: numbers })).toBe(true);
  });
});

test('lists and maps of other types are not equal', () => {
  const given = { data: { numbers: [1], texts: ['a'], map: { a: 1 } } };
  expect(compileMatch('event.data.numbers != event.data.texts')(given)).toBe(true);
  expect(compileMatch('event.data.numbers == ["a"] || event.data.map == {"a": "b"}')(given)).toBe(false);
});
