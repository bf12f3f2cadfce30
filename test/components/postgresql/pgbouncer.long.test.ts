import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stateStoreConformance } from '../../../src/kit/store-conformance.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { put } from '../../support/embedded-store.ts';
import { hasPgbouncer, hasPostgresql, type OwnServer, startPgbouncer } from '../../support/servers.ts';
import { PgTestServer } from './pg-test-server.ts';

/** What cannot hold without `LISTEN`. */
const NEEDS_HINTS = 'hints at what another handle has changed';

describe.runIf(hasPostgresql() && hasPgbouncer())('state in PostgreSQL behind PgBouncer in transaction mode', () => {
  let server: PgTestServer;
  let bouncer: OwnServer;
  beforeAll(async () => {
    server = await PgTestServer.start();
    bouncer = await startPgbouncer(server.server.port);
  }, 60_000);
  afterAll(async () => {
    await bouncer[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const open = (schema: string): Promise<StateStore> =>
    server.open({ url: server.url(bouncer.port), schema, preparedStatements: false });

  for (const { name, run } of stateStoreConformance.filter((c) => c.name !== NEEDS_HINTS))
    test(name, () => {
      const schema = server.newPlace();
      return run(() => open(schema));
    });

  test('says that hints of other processes are missing, so that its users poll', async () => {
    await using store = await open(server.newPlace());
    await store.commit({ put: [put('a')] });
    expect(store.hints).toBe('own');
  });

  test('goes on when PgBouncer is started again', async () => {
    await using store = await open(server.newPlace());
    await store.commit({ put: [put('a')] });
    await bouncer.kill();
    const commit = store.commit({ put: [put('b')] });
    await bouncer.restart();
    await commit;
    await expect.poll(() => store.failure).toBeUndefined();
  });

  test('with prepared statements, which PgBouncer before 1.21 lacks, the error names the option', async () => {
    const schema = server.newPlace();
    const options = { url: server.url(bouncer.port), schema };
    const opening = Promise.all(Array.from({ length: 4 }, () => server.open(options))).then(async (stores) => {
      await Promise.all(stores.map((store) => store.commit({ put: [put('a')] })));
    });
    await expect(opening).rejects.toThrow(/preparedStatements: false/);
  });
});
