import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresqlState } from '../../../src/components/postgresql/index.ts';
import { redisState } from '../../../src/components/redis/index.ts';
import type { StateCall } from '../../../src/index.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { put } from '../../support/embedded-store.ts';
import { hasPostgresql, hasRedis } from '../../support/servers.ts';
import { PgTestServer } from '../postgresql/pg-test-server.ts';
import { RedisTestServer } from '../redis/redis-test-server.ts';

/** The fields that do not depend on the machine. */
const untimed = ({ durationMs: _, ...call }: StateCall): Omit<StateCall, 'durationMs'> => call;

interface Server extends AsyncDisposable {
  readonly server: PgTestServer['server'];
  readonly logger: PgTestServer['logger'];
  open(options: { onCall: (call: StateCall) => void; operationTimeout?: number }): Promise<StateStore>;
}

const ENGINES: readonly (readonly [string, () => boolean, () => Promise<Server>])[] = [
  ['postgresql', hasPostgresql, () => PgTestServer.start()],
  ['redis', hasRedis, () => RedisTestServer.start()],
];

for (const [name, isThere, start] of ENGINES) {
  describe.runIf(isThere())(`onCall of ${name}`, () => {
    let server: Server;
    beforeAll(async () => {
      server = await start();
    }, 60_000);
    afterAll(() => server[Symbol.asyncDispose]());

    test('is told every call of the server with its size', async () => {
      const calls: StateCall[] = [];
      await using store = await server.open({ onCall: (call) => calls.push(call) });
      const refused = store.commit({ require: [{ key: 'none', version: 7 }], put: [put('b', 2)] });
      await Promise.allSettled([store.commit({ put: [put('a', 3)], delete: ['x'] }), refused]);
      await Promise.all([store.get('a'), store.get('b')]);
      await store.scan({ from: '' });
      expect(calls.every(({ durationMs }) => durationMs > 0)).toBe(true);
      const expected: Omit<StateCall, 'durationMs'>[] = [
        { kind: 'connect' },
        { kind: 'connect' },
        { kind: 'session' },
        { kind: 'commit', batches: 1, conflicts: 1, entries: 0, bytes: 0 },
        { kind: 'commit', batches: 1, conflicts: 0, entries: 2, bytes: 3 },
        { kind: 'get', entries: 1, bytes: 3 },
        { kind: 'scan', entries: 1, bytes: 3 },
      ];
      // Other processes are told of the first commit in its round trip, and of more soon after it in one of their own.
      expect(calls.map(untimed)).toEqual(expected);
      await store.commit({ put: [put('c', 1)] });
      await store.commit({ put: [put('d', 1)] });
      await expect.poll(() => calls.map(untimed)).toContainEqual({ kind: 'notify' });
    });

    test('is told one call for each commit that comes alone, whose hint arrives all the same', async () => {
      const calls: StateCall[] = [];
      await using store = await server.open({ onCall: (call) => calls.push(call) });
      await store.commit({ put: [put('a')] });
      calls.length = 0;
      for (let index = 0; index < 3; index++) {
        await sleep(150);
        await store.commit({ put: [put('a')] });
      }
      await sleep(50);
      expect(calls.map(({ kind }) => kind)).toEqual(['commit', 'commit', 'commit']);
      expect(store.hints).toBe('all');
    });

    test('that throws is logged once, and the store works', async () => {
      const onCall = (): void => {
        throw new Error('no metrics today');
      };
      await using store = await server.open({ onCall });
      await store.commit({ put: [put('a')] });
      expect((await store.get('a'))?.value).toEqual(put('a').value);
      expect(server.logger.at('error').map(({ message }) => message)).toEqual([
        'onCall of the state store throws; this is logged once',
      ]);
    });

    test('is told what failed, and why', async () => {
      const calls: StateCall[] = [];
      await using store = await server.open({ onCall: (call) => calls.push(call), operationTimeout: 300 });
      await server.server.kill();
      await expect(store.get('a')).rejects.toThrow();
      expect(calls.map(untimed)).toContainEqual({ kind: 'connect', error: 'lost' });
      await server.server.restart();
    });
  });
}

test.each([
  () => postgresqlState({ url: 'postgresql://db', onCall: 'me' as unknown as () => void }),
  () => redisState({ url: 'redis://db', onCall: 'me' as unknown as () => void }),
])('onCall is a function', (make) => {
  expect(make).toThrow(/^onCall in options of (postgresqlState|redisState) is "me": expected a function$/);
});
