import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tokensOf } from '../../../src/components/kafka/client-credentials.ts';

describe('access tokens by the credentials of the client', () => {
  const asked: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  let answer: readonly [status: number, body: string] = [200, ''];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      asked.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      const [status, body] = answer;
      response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end(body);
    });
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => void server.close());
  beforeEach(() => void asked.splice(0));

  const tokens = (): (() => Promise<string>) =>
    tokensOf({
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
      ...{ clientId: 'orders:1', clientSecret: 'open sesame', scopes: ['openid', 'kafka'] },
    });

  test('are asked for once, and kept while they live', async () => {
    answer = [200, '{"access_token":"a.b.c","expires_in":3600,"token_type":"Bearer"}'];
    const token = tokens();
    expect(await Promise.all([token(), token()])).toEqual(['a.b.c', 'a.b.c']);
    expect(await token()).toBe('a.b.c');
    expect(asked).toHaveLength(1);
    expect(asked[0]?.body).toBe('grant_type=client_credentials&scope=openid+kafka');
    const login = Buffer.from('orders%3A1:open%20sesame').toString('base64');
    expect(asked[0]?.headers.authorization).toBe(`Basic ${login}`);
  });

  test('are asked for again when they have no life, or none came', async () => {
    const token = tokens();
    answer = [503, 'later'];
    await expect(token()).rejects.toThrow('the server of access tokens answers 503');
    answer = [200, '{"access_token":"first"}'];
    expect(await token()).toBe('first');
    answer = [200, '{"access_token":"second"}'];
    expect(await token()).toBe('second');
  });

  test.each([
    [401, '{"error":"invalid_client"}', 'answers 401'],
    [200, '{"error":"none"}', 'without a token'],
    [200, 'null', 'without a token'],
    [200, '<html>', 'without a token'],
    [302, '', 'fetch failed'],
  ])('fail for the answer %i %s, and tell no secret', async (status, body, problem) => {
    answer = [status, body];
    const error: unknown = await tokens()().catch((reason: unknown) => reason);
    expect(String(error)).toContain(problem);
    expect(String(error)).not.toContain('sesame');
  });
});
