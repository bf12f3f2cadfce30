import { expect, test } from 'vitest';
import { ActorSidecars } from '../support/actor-sidecars.ts';

const IDS = Array.from({ length: 8 }, (_, index) => `cart-${index}`);

interface Drained {
  /** After how many seconds the first actor moved. */
  readonly seconds: number;
  /** What happened to the actors that moved, in order, by ID. */
  readonly events: ReadonlyMap<string, readonly string[]>;
  /** The statuses of the calls that were in flight, and of those that came meanwhile. */
  readonly inFlight: ReadonlySet<number>;
  readonly later: ReadonlySet<number>;
}

/** Has a host join while each actor of another one is in a call that does not end by itself. */
async function drained(settings: object): Promise<Drained> {
  await using hosts = new ActorSidecars();
  const configuration = { entities: ['Cart'], ...settings };
  const a = await hosts.join({ configuration });
  await hosts.pass(5);
  const { answer } = a.app;
  const ends: (() => void)[] = [];
  a.app.answer = async (request, nth) => {
    await answer(request, nth);
    return request.path.endsWith('/slow') ? new Promise((resolve) => ends.push(() => resolve({}))) : {};
  };
  const inFlight = Promise.all(IDS.map((id) => a.call(`Cart/${id}/method/slow`)));
  await expect.poll(() => ends.length).toBe(IDS.length);
  const b = await hosts.join({ configuration });
  const moved = (): boolean => hosts.log.some((line) => line.startsWith('0 DELETE'));
  let seconds = 0;
  for (; !moved() && seconds < 60; seconds++) await hosts.pass(1);
  // Calls that come now wait for the rest of the move.
  const later = hosts.passing(Promise.all(IDS.map((id) => b.call(`Cart/${id}/method/next`))));
  await hosts.pass(2);
  for (const end of ends) end();
  const statuses = [await inFlight, await later].map((answers) => new Set(answers.map(({ status }) => status)));
  const events = new Map(
    [...b.actors].map((id) => [
      id,
      hosts.log.filter((line) => line.endsWith(` ${id}`)).map((line) => line.slice(0, 5)),
    ]),
  );
  return { seconds, events, inFlight: statuses[0] ?? new Set(), later: statuses[1] ?? new Set() };
}

test('a moving actor waits for its call in flight as long as its type says, and is deactivated before it moves', async () => {
  const atOnce = await drained({ drainRebalancedActors: false, drainOngoingCallTimeout: '10s' });
  for (const [settings, waits] of [
    [{}, 15],
    [{ drainOngoingCallTimeout: '1m', entitiesConfig: [{ entities: ['Cart'], drainOngoingCallTimeout: '8s' }] }, 8],
    [{ drainRebalancedActors: false }, 0],
    [{ drainOngoingCallTimeout: '0s' }, 0],
  ] as const) {
    const { seconds, events, inFlight, later } = await drained(settings);
    // Time passes here by the second, and at one host after the other.
    expect(Math.abs(seconds - atOnce.seconds - waits), JSON.stringify(settings)).toBeLessThanOrEqual(1);
    expect(events.size).toBeGreaterThan(0);
    for (const [id, lines] of events) expect([id, ...lines]).toEqual([id, '0 PUT', '0 DEL', '1 PUT']);
    expect([inFlight, later]).toEqual([new Set([200]), new Set([200])]);
  }
});
