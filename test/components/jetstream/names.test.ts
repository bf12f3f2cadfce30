import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  consumerNameOf,
  filterOf,
  isWildcard,
  streamNameOf,
  subjectOf,
  topicOf,
} from '../../../src/components/jetstream/names.ts';

/** Topics with the characters that matter. */
const topics = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '.', '*', '>', '%', '2', '0', 'E', ' ', '$', '\n', 'ü'), minLength: 1 }),
  fc.string({ unit: 'binary', minLength: 1 }),
);

describe('the subject of a topic', () => {
  test.each(['orders', 'orders.created.v1', 'a*b', 'a>', 'grüße', 'a$b', '100%', 'a%2Fb', 'a/b//c', '__proto__'])(
    '%s is the topic itself',
    (topic) => expect(subjectOf(topic)).toBe(topic),
  );

  test.each([
    ['a b', 'a%20b'],
    ['\ta\r\n', '%09a%0D%0A'],
    ['.a', '%2Ea'],
    ['a.', 'a%2E'],
    ['a..b', 'a%2E.b'],
    ['...', '%2E%2E%2E'],
    ['*', '%2A'],
    ['a.*.>', 'a.%2A.%3E'],
    ['$JS.API.STREAM.DELETE.orders', '%24JS.API.STREAM.DELETE.orders'],
    ['a%20b', 'a%2520b'],
  ])('of %j is %s', (topic, subject) => expect(subjectOf(topic)).toBe(subject));

  test('tells any two topics apart, and is one that servers take', () => {
    fc.assert(
      fc.property(topics, (topic) => {
        const subject = subjectOf(topic);
        expect(topicOf(subject)).toBe(topic);
        expect(subject).not.toMatch(/[\0-\x20\x7f]|^\$/);
        for (const token of subject.split('.')) expect(['', '*', '>']).not.toContain(token);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the filter of a subscription', () => {
  test.each([
    ['orders', 'orders', false],
    ['orders.*', 'orders.*', true],
    ['*.created', '*.created', true],
    ['orders.>', 'orders.>', true],
    ['>', '>', true],
    ['a.>.b', 'a.%3E.b', false],
    ['a*.b>', 'a*.b>', false],
    ['.*', '%2E%2A', false],
    ['a.%2A', 'a.%252A', false],
  ])('to %j is %s', (topic, filter, hasWildcards) => {
    expect([filterOf(topic), isWildcard(topic)]).toEqual([filter, hasWildcards]);
  });
});

describe('the names of consumers and streams', () => {
  test('say what they are for', () => {
    expect(consumerNameOf('shop', 'orders')).toBe('shop@orders');
    expect(consumerNameOf('shop/mail', 'orders.created')).toBe('shop=2Fmail@orders=2Ecreated');
    expect(streamNameOf('grüße 🚀')).toBe('insidecar-gr=C3=BC=C3=9Fe=20=F0=9F=9A=80');
  });

  test('differ, are short, and have no character that servers stumble over', () => {
    fc.assert(
      fc.property(topics, topics, topics, (group, topic, other) => {
        const name = consumerNameOf(group, topic);
        expect(name).toMatch(/^[A-Za-z0-9_=@~-]{1,200}$/);
        expect(consumerNameOf(group, other) === name).toBe(topic === other);
      }),
    );
    const long = 'x'.repeat(300);
    expect(new Set([consumerNameOf('g', long), consumerNameOf('g', `${long}y`), streamNameOf(long)]).size).toBe(3);
    expect(consumerNameOf('g', long).length).toBeLessThanOrEqual(200);
  });
});
