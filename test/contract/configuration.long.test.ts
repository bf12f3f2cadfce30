/** What a server does to configuration: it ends, and refuses. */
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { postgresqlConfiguration } from '../../src/components/postgresql/index.ts';
import { redisConfiguration } from '../../src/components/redis/index.ts';
import { itemsOf, subscribe, TABLE } from '../support/configuration-table.ts';
import { connectPg } from '../support/pg-client.ts';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';
import { storesWorld, until } from '../support/stores-world.ts';

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
    await world.told(1);
    await own.kill();
    expect((await world.get('/v1.0/configuration/cfg?key=a')).error).toEqual([500, 'ERR_CONFIGURATION_GET']);
    await until(
      async () => (await world.get('/v1.0/healthz')).status === 500,
      () => 'unhealthy',
    );
    await own.restart();
    await write('2');
    expect(itemsOf(await world.told(2))).toEqual([{ a: { value: '1' } }, { a: { value: '2' } }]);
    await write('3');
    expect(itemsOf(await world.told(3)).at(-1)).toEqual({ a: { value: '3' } });
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
    const definition = postgresqlConfiguration('cfg', { connection: url, table: 'cut', notifyChannel: 'cut' });
    await using world = await storesWorld({ components: [definition] });
    await subscribe(world, '?key=k');
    await own.kill();
    expect((await world.get('/v1.0/configuration/cfg')).error).toEqual([500, 'ERR_CONFIGURATION_GET']);
    await own.restart();
    await run(`UPDATE cut SET value = '2'`);
    expect(itemsOf(await world.told(1))).toEqual([{ k: { value: '2', version: '1' } }]);
    await run(`UPDATE cut SET value = '3'`);
    expect(itemsOf(await world.told(2)).at(-1)).toEqual({ k: { value: '3', version: '1' } });
  }, 60_000);
});
