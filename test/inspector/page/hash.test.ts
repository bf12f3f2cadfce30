import { describe, expect, it } from 'vitest';
import { formatHash, parseHash } from '../../../src/inspector/page/core/hash.ts';

describe('the address of a page', () => {
  it('has a path and a query', () => {
    const { path, query } = parseHash('#/queues/pubsub/orders/shop?state=ready&open=1');
    expect(path).toEqual(['queues', 'pubsub', 'orders', 'shop']);
    expect([...query]).toEqual([
      ['state', 'ready'],
      ['open', '1'],
    ]);
  });

  it('is that of the first page if nothing is in it', () => {
    for (const hash of ['', '#', '#/']) expect(parseHash(hash).path).toEqual([]);
  });

  it.each([['a/b'], ['50 %'], ['?x=1#y'], ['__proto__'], ['ü/€']])('keeps the name %s', (name) => {
    const { path, query } = parseHash(formatHash(['workflows', name], { text: name }));
    expect(path).toEqual(['workflows', name]);
    expect(query.get('text')).toBe(name);
  });

  it('reads a link that was cut within an escape', () => {
    expect(parseHash('#/jobs/a%2').path).toEqual(['jobs', 'a%2']);
  });

  it('leaves out what is empty', () => {
    expect(formatHash(['jobs'], { prefix: '', cursor: undefined, reverse: false })).toBe('#/jobs?reverse=false');
  });
});
