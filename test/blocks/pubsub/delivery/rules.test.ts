import { describe, expect, test } from 'vitest';
import { compileMatch } from '../../../../src/blocks/pubsub/delivery/rules.ts';

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

  test.each(['(a+)+$', '^(a|a)*$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$', '^(\\\\w+\\\\s?)*$'])(
    'the pattern %s is refused: it could backtrack for very long',
    (pattern) => {
      expect(() => compileMatch(`event.data.name.matches("${pattern}")`)).toThrow(/is refused/);
    },
  );

  test.each([
    'event.data.tags.exists(t, t.matches("(a+)+$"))',
    'event.type == "a" || (true && !event.type.matches("(a+)+$"))',
    '(event.type == "a" ? [event.type.matches("(a+)+$")] : [true])[0]',
    'matches(event.type, "(a+)+$")',
    'event.type.matches("(?i)(?:a|A)*$")',
    'event.type.matches("(?i)(?:k|\u212a)*$")',
    'event.type.matches("(?:[[:alpha:]]|a)*$")',
    'event.type.matches("(?:\\\\pL+)+$")',
  ])('such a pattern is found wherever it stands: %s', (expression) => {
    expect(() => compileMatch(expression)).toThrow(/is refused/);
  });

  test.each(['^order\\\\..+$', '^[a-z0-9-]{1,36}$', '^(created|updated|deleted)$', 'abc', '^\\\\d{4}-\\\\d{2}$', ''])(
    'the pattern %s is taken',
    (pattern) => {
      expect(() => compileMatch(`event.data.name.matches("${pattern}")`)).not.toThrow();
    },
  );

  test('a pattern that is not a regular expression is refused', () => {
    expect(() => compileMatch('event.type.matches("[")')).toThrow(/is not a regular expression/);
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
