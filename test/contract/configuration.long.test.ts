/** What a server does to configuration: it ends, and refuses. */
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { postgresqlConfiguration } from '../../src/components/postgresql/index.ts';
import { redisConfiguration } from '../../src/components/redis/index.ts';
import { itemsOf, subscribe, TABLE } from '../support/configuration-table.ts';
import { freePort } from '../support/http.ts';
import { connectPg } from '../support/pg-client.ts';
import { redisCommand } from '../support/redis-groups.ts';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';
import { storesWorld, until } from '../support/stores-world.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

describe.skipIf(!hasRedis())('Redis', () => {
  test('where CONFIG is forbidden, keys are read every second', async () => {
    await using own = await startRedis();
    const client = await createClient({ url: `redis://127.0.0.1:${own.port}` }).connect();
    await client.sendCommand(['ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all', '-config']);
    await using world = await storesWorld({
      components: [redisConfiguration('cfg', { url: `redis://app:pw@127.0.0.1:${own.port}` })],
    });
    await subscribe(world, '?key=a');
    await client.set('a', '1');
    expect(itemsOf(await world.told(1))).toEqual([{ a: { value: '1' } }]);
    expect(world.logger.at('warn')).toHaveLength(1);
    client.destroy();
  });

  test('changes made while the connections are cut are told when they are back, each time, and by events', async () => {
    await using own = await startRedis();
    await using proxy = await TcpProxy.start(own.port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    await using world = await storesWorld({ components: [redisConfiguration('cfg', { url })] });
    await subscribe(world, '?key=a');
    const write = (value: number): Promise<unknown> => redisCommand(own.port, ['SET', 'a', String(value)]);
    const untilHealth = (status: number): Promise<void> =>
      until(
        async () => (await world.get('/v1.0/healthz')).status === status,
        () => `health ${status}`,
      );
    // The connection for events comes back before that for commands, or after it: both wait for a random time.
    for (let round = 1; round <= 8; round++) {
      proxy.target = await freePort();
      proxy.cut();
      await untilHealth(500);
      await write(2 * round - 1);
      proxy.target = own.port;
      expect(itemsOf(await world.toldInTime(2 * round - 1)).at(-1)).toEqual({ a: { value: String(2 * round - 1) } });
      await write(2 * round);
      expect(itemsOf(await world.toldInTime(2 * round)).at(-1)).toEqual({ a: { value: String(2 * round) } });
    }
    const warnings = world.logger.at('warn').map(({ message }) => message);
    expect(warnings.filter((message) => message.includes('is read every second'))).toEqual([]);
  }, 60_000);

  test('a flush, of which Redis sends no event, is told of after a reconnect', async () => {
    await using own = await startRedis();
    await using proxy = await TcpProxy.start(own.port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    await redisCommand(own.port, ['SET', 'a', '1']);
    await using world = await storesWorld({ components: [redisConfiguration('cfg', { url })] });
    await subscribe(world, '?key=a&key=b');
    await redisCommand(own.port, ['FLUSHALL'], ['SET', 'b', '1']);
    expect(itemsOf(await world.told(1))).toEqual([{ b: { value: '1' } }]);
    proxy.cut();
    expect(itemsOf(await world.told(2)).at(-1)).toEqual({ a: {} });
  });

  test('after a restart of the server, what changed meanwhile is told', async () => {
    await using own = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const url = `redis://127.0.0.1:${own.port}`;
    const write = async (value: string): Promise<void> => {
      const client = await createClient({ url }).connect();
      await client.set('a', value);
      client.destroy();
    };
    await using world = await storesWorld({ components: [redisConfiguration('cfg', { url })] });
    await subscribe(world, '?key=a');
    await write('1');
    await world.toldInTime(1);
    await own.kill();
    expect((await world.get('/v1.0/configuration/cfg?key=a')).error).toEqual([500, 'ERR_CONFIGURATION_GET']);
    await until(
      async () => (await world.get('/v1.0/healthz')).status === 500,
      () => 'unhealthy',
    );
    await own.restart();
    await write('2');
    expect(itemsOf(await world.toldInTime(2))).toEqual([{ a: { value: '1' } }, { a: { value: '2' } }]);
    await write('3');
    expect(itemsOf(await world.toldInTime(3)).at(-1)).toEqual({ a: { value: '3' } });
  }, 60_000);
});

describe.skipIf(!hasPostgresql())('PostgreSQL', () => {
  test('a connection that is cut: what changed meanwhile is told', async () => {
    await using own = await startPostgresql();
    const url = `postgresql://postgres@127.0.0.1:${own.port}/postgres`;
    const run = async (statement: string): Promise<void> => {
      const client = await connectPg(url);
      await client.query(statement);
      await client[Symbol.asyncDispose]();
    };
    await run(TABLE('cut'));
    await run(`INSERT INTO cut VALUES ('k','1','1',NULL)`);
    const definition = postgresqlConfiguration('cfg', { url, table: 'cut', notifyChannel: 'cut' });
    await using world = await storesWorld({ components: [definition] });
    await subscribe(world, '?key=k');
    await own.kill();
    // The processes of a server that was killed may answer once more.
    await until(
      async () => (await world.get('/v1.0/configuration/cfg')).status === 500,
      () => 'a read that fails',
    );
    await own.restart();
    await run(`UPDATE cut SET value = '2'`);
    expect(itemsOf(await world.toldInTime(1))).toEqual([{ k: { value: '2', version: '1' } }]);
    await run(`UPDATE cut SET value = '3'`);
    expect(itemsOf(await world.toldInTime(2)).at(-1)).toEqual({ k: { value: '3', version: '1' } });
  }, 60_000);
});
