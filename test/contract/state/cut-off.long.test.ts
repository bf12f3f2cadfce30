/** Values on a server whose connections are cut, and that is killed, in the middle of transactions. */
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { postgresqlStateStore } from '../../../src/components/postgresql/index.ts';
import { redisStateStore } from '../../../src/components/redis/index.ts';
import type { KeyValueDefinition } from '../../../src/kit/index.ts';
import { freePort } from '../../support/http.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../../support/servers.ts';
import { type StateAnswer, type StateWorld, startStateWorld } from '../../support/state-world.ts';
import { until } from '../../support/stores-world.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const KEYS = Array.from({ length: 300 }, (_value, index) => `key-${index}`);
const ROUNDS = 25;

const inPostgresql =
  (version: 'v1' | 'v2') =>
  (name: string, port: number): KeyValueDefinition =>
    postgresqlStateStore(name, {
      url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
      version,
      callTimeout: 10_000,
    });
const POSTGRESQL = { technology: 'PostgreSQL', isThere: hasPostgresql, start: () => startPostgresql() };

function transact(world: StateWorld, value: number): Promise<StateAnswer> {
  const operations = KEYS.map((key) => ({ operation: 'upsert', request: { key, value } }));
  return world.send('POST', '/v1.0/state/store/transaction', { operations });
}

/** The value that all keys have; read past the proxy. */
async function onlyValue(world: StateWorld): Promise<number> {
  const { json } = await world.send('POST', '/v1.0/state/direct/bulk', { keys: KEYS });
  const values = new Set((json as readonly { readonly data: number }[]).map(({ data }) => data));
  expect([...values]).toHaveLength(1);
  return [...values][0] ?? Number.NaN;
}

async function answerIsLost(proxy: TcpProxy): Promise<void> {
  proxy.answersLeft = 0;
  await until(
    () => proxy.answersLeft < 0,
    () => 'an answer of the server',
  );
  proxy.answersLeft = Number.POSITIVE_INFINITY;
}

function untilHealth(world: StateWorld, status: number): Promise<void> {
  return until(
    async () => (await world.send('GET', '/v1.0/healthz')).status === status,
    () => `health ${status}`,
  );
}

describe.each([
  {
    name: 'Redis',
    technology: 'Redis',
    isThere: hasRedis,
    start: () => startRedis(),
    store: (name: string, port: number): KeyValueDefinition =>
      redisStateStore(name, { url: `redis://127.0.0.1:${port}`, callTimeout: 10_000 }),
  },
  { name: 'PostgreSQL, v1', ...POSTGRESQL, store: inPostgresql('v1') },
  { name: 'PostgreSQL, v2', ...POSTGRESQL, store: inPostgresql('v2') },
])('values in $name', ({ technology, isThere, start, store }) => {
  /** A sidecar with a store through a proxy, and the same one without. */
  async function open(server: OwnServer, proxy: TcpProxy): Promise<StateWorld> {
    const direct = store('direct', server.port);
    return startStateWorld({ components: [store('store', proxy.port), direct] });
  }

  function expectFailure({ error, text }: StateAnswer): void {
    expect(error).toEqual([500, 'ERR_STATE_TRANSACTION']);
    expect(text).toContain('state store store failed');
    expect(text).toContain(`${technology} at 127.0.0.1:`);
  }

  test(`${ROUNDS} transactions whose connections are cut: each is done, or an error that names the store, never half done`, async ({
    skip,
  }) => {
    if (!isThere()) return skip();
    await using server = await start();
    await using proxy = await TcpProxy.start(server.port);
    await using world = await open(server, proxy);
    expect((await transact(world, 0)).status).toBe(204);
    let [failures, lastDone] = [0, 0];
    for (let round = 1; round <= ROUNDS; round++) {
      const answering = transact(world, round);
      // Every other one is cut when its first answer is on the way; the others anywhere, or not at all.
      if (round % 2 === 0) await pause(Math.random() * 12);
      else await answerIsLost(proxy);
      proxy.cut();
      const answer = await answering;
      if (answer.status === 204) lastDone = round;
      else {
        expectFailure(answer);
        failures++;
      }
      await untilHealth(world, 204);
      const value = await onlyValue(world);
      expect(value).toBeGreaterThanOrEqual(lastDone);
      expect(value).toBeLessThanOrEqual(round);
    }
    expect(failures).toBeGreaterThan(0);
  }, 60_000);

  test('a server that is killed in a transaction, and comes back: unhealthy meanwhile, nothing half done', async ({
    skip,
  }) => {
    if (!isThere()) return skip();
    await using server = await start();
    await using proxy = await TcpProxy.start(server.port);
    await using world = await open(server, proxy);
    expect((await transact(world, 0)).status).toBe(204);
    for (let round = 1; round <= 3; round++) {
      const answering = transact(world, round);
      await pause(Math.random() * 12);
      await server.kill();
      const { status } = await answering;
      await untilHealth(world, 500);
      expectFailure(await transact(world, 100));
      await server.restart();
      await untilHealth(world, 204);
      const value = await onlyValue(world);
      if (status === 204) expect(value).toBe(round);
      expect(value).not.toBe(100);
      expect((await transact(world, round)).status).toBe(204);
      expect(await onlyValue(world)).toBe(round);
    }
  }, 60_000);

  test('health names the store that cannot be reached, and why', async ({ skip }) => {
    if (!isThere()) return skip();
    await using server = await start();
    await using proxy = await TcpProxy.start(server.port);
    await using world = await open(server, proxy);
    await untilHealth(world, 204);
    proxy.target = await freePort();
    proxy.cut();
    await untilHealth(world, 500);
    const reason = expect.stringContaining(`store: ${technology} at 127.0.0.1:${proxy.port}`);
    expect(world.sidecar.health.state().checks).toContainEqual({ name: 'stores', isReady: false, reason });
    expect((await world.send('GET', '/v1.0/state/direct/a')).status).toBe(204);
    proxy.target = server.port;
    await untilHealth(world, 204);
  });
});
