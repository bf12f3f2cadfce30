import { expect, test } from 'vitest';
import { isNoConnection } from '../../src/app/no-connection.ts';
import { Destinations } from '../../src/blocks/invocation/destinations.ts';
import { ClientPool } from '../../src/http/client-pool.ts';
import { sidecarClient } from '../../src/http/direct-client.ts';
import { HEAD_LIMIT_BYTES } from '../../src/http/head-limit.ts';
import { request } from '../../src/http/message.ts';
import { httpClient } from '../../src/http/pool-client.ts';
import { bytesOf, gate } from '../../src/kit/adapter-case.ts';
import { wireNames } from '../../src/wire.ts';
import { listen } from '../support/http.ts';

const MAKERS = [{ make: httpClient }, { make: sidecarClient }];

test.for(MAKERS)('keeps so many clients, and lets the others end what they do: $make.name', async ({ make }) => {
  const goOn = gate();
  await using first = await listen((_req, res) => {
    res.write('begun ');
    void goOn.opened.then(() => res.end('ended'));
  });
  await using second = await listen((_req, res) => res.end('second'));
  const pool = new ClientPool(1, HEAD_LIMIT_BYTES, make);
  const client = pool.clientOf(first.url);
  expect(pool.clientOf(first.url)).toBe(client);
  const { body } = await client.handle(request('GET', '/'));
  const other = await pool.clientOf(second.url).handle(request('GET', '/'));
  expect((await bytesOf(other.body)).toString()).toBe('second');
  expect(pool.clientOf(first.url)).not.toBe(client);
  goOn.open();
  expect((await bytesOf(body)).toString()).toBe('begun ended');
  await expect(client.handle(request('GET', '/'))).rejects.toThrow();
  await pool.close();
});

test.for(MAKERS)('a client that is retired before it is open sends what it was given: $make.name', async ({ make }) => {
  await using first = await listen((_req, res) => res.end());
  await using second = await listen((_req, res) => res.end());
  const pool = new ClientPool(1, HEAD_LIMIT_BYTES, make);
  const answers = [first.url, second.url].map((url) => pool.clientOf(url).handle(request('GET', '/')));
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  await pool.close();
});

test.for(MAKERS)('a client that is retired before its first request answers it: $make.name', async ({ make }) => {
  await using server = await listen((_req, res) => res.end());
  const client = make(server.url, {});
  await client.retire();
  expect((await client.handle(request('GET', '/'))).status).toBe(200);
  await client.close();
});

test('a URL is reached by a later attempt too, when its client was retired before that', async () => {
  await using first = await listen((_req, res) => res.end());
  await using second = await listen((_req, res) => res.end());
  const pool = new ClientPool(1);
  const destinations = new Destinations({
    appId: 'shop',
    own: { appId: 'shop', namespace: 'default' },
    wire: wireNames('sidecar'),
    app: undefined,
    monitor: undefined,
    resolver: undefined,
    identity: undefined,
    resiliency: undefined,
    endpoints: new Map(),
    clients: pool,
  });
  const destination = destinations.find(first.url);
  expect((await destination.send(request('GET', '/'))).status).toBe(200);
  await pool.clientOf(second.url).handle(request('GET', '/'));
  expect((await destination.send(request('GET', '/'))).status).toBe(200);
  await pool.close();
});

test('the failure of a body that is being sent is not taken for one of the connection', async () => {
  await using server = await listen((req, res) => {
    req.on('error', () => undefined).resume();
    req.on('end', () => res.end());
  });
  const pool = new ClientPool(1);
  const failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const body = (async function* () {
    yield Buffer.from('a');
    throw failure;
  })();
  const error = await pool
    .clientOf(server.url)
    .handle(request('POST', '/', { body }))
    .catch((thrown) => thrown);
  expect(error).toMatchObject({ message: 'the body of the request broke off', cause: failure });
  expect(isNoConnection(error)).toBe(false);
  await pool.close();
});
