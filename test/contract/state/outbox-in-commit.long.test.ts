import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { StateDefinition, StateStore } from '../../../src/kit/index.ts';
import { hasSharedPostgresql, sharedPostgresql } from '../../components/postgresql/given-postgresql.ts';
import { hasSharedRedis, SharedRedisState } from '../../components/redis/given-redis.ts';
import { OutboxWorld, sameCommitCases } from '../../support/outbox-world.ts';

/** A server on which places are apart from each other: schemas, or prefixes. */
interface Places extends AsyncDisposable {
  newPlace(): string;
  open(place: string): Promise<StateStore>;
}

async function postgresqlPlaces(): Promise<Places> {
  const server = await sharedPostgresql();
  return {
    newPlace: () => server.newPlace(),
    open: (schema) => server.open({ schema }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe.each([
  { engine: 'PostgreSQL', isThere: hasSharedPostgresql, start: postgresqlPlaces },
  { engine: 'Redis', isThere: hasSharedRedis, start: (): Promise<Places> => SharedRedisState.start() },
])('an outbox and a durable pub/sub on $engine', ({ isThere, start }) => {
  const canRun = isThere();
  let places: Places;
  beforeAll(async () => {
    if (canRun) places = await start();
  }, 60_000);
  afterAll(() => places?.[Symbol.asyncDispose]());

  const at = (place: () => string): StateDefinition => ({ type: 'server', open: () => places.open(place()) });

  describe.runIf(canRun)('shared by the sidecars of a process', () =>
    sameCommitCases(() => at(() => places.newPlace())),
  );

  test.runIf(canRun)('hosts with connections of their own: every group gets each event once, in order', async () => {
    const place = places.newPlace();
    await using shop = await OutboxWorld.start({ state: at(() => place) });
    await using billing = await OutboxWorld.start({ state: at(() => place), appId: 'billing' });
    const sent: string[] = [];
    for (let n = 0; n < 10; n++) {
      await shop.transact({ [`s${n}`]: `shop ${n}` });
      await billing.transact({ [`b${n}`]: `billing ${n}` });
      sent.push(`shop ${n}`, `billing ${n}`);
    }
    for (const { data } of [shop, billing]) {
      await vi.waitFor(() => expect(data.length).toBeGreaterThanOrEqual(sent.length), { timeout: 10_000 });
      expect([...data].sort()).toEqual([...sent].sort());
      for (const by of ['shop', 'billing'])
        expect(data.filter((one) => String(one).startsWith(by))).toEqual(sent.filter((one) => one.startsWith(by)));
    }
  });
});
