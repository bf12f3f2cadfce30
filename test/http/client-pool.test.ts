import { expect, test } from 'vitest';
import { ClientPool } from '../../src/http/client-pool.ts';
import { request } from '../../src/http/message.ts';
import { bytesOf, gate } from '../../src/testing/adapter-case.ts';
import { listen } from '../support/http.ts';

test('keeps so many clients, and lets the others end what they do', async () => {
  const goOn = gate();
  await using first = await listen((_req, res) => {
    res.write('begun ');
    void goOn.opened.then(() => res.end('ended'));
  });
  await using second = await listen((_req, res) => res.end('second'));
  const pool = new ClientPool(1);
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
