import { expect, test, vi } from 'vitest';
import { ApartFleet } from '../support/apart.ts';

const IDS = Array.from({ length: 20 }, (_, index) => `flow-${index}`);

test('an event through the store comes once, although its owner has read it twice', async () => {
  await using apart = new ApartFleet();
  const { fleet } = apart;
  // Without keys they do not call each other.
  const [a, b] = [await apart.join({ keys: 'none' }), await apart.join({ keys: 'none' })];
  for (const { workflows } of [a, b])
    workflows.register('collect', async (ctx) => {
      const told: string[] = [];
      for (;;) {
        const one = await ctx.waitForEvent<string>('tell');
        if (one === 'end') return told.join();
        told.push(one);
      }
    });
  await fleet.pass(8);
  const [id = ''] = await a.owned(fleet, IDS);
  await a.workflows.start('collect', undefined, { instanceId: id });
  // What it has read of its inbox comes late: meanwhile a hint has told it of the same message.
  let answer = (): void => undefined;
  const late = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let reads = 0;
  const { store, clock } = a.member;
  store.keepsBack = ([first]) => (first?.key.includes('inbox') && reads++ === 0 ? late : undefined);
  store.pause();
  const scan = vi.spyOn(store, 'scan');
  const polled = clock.advance(1_000);
  await expect.poll(() => scan.mock.calls.some(([{ from }]) => from.includes('inbox'))).toBe(true);
  await b.workflows.raiseEvent(id, 'tell', 'one');
  store.resume();
  const eventsOf = async (): Promise<number> =>
    (await b.workflows.history(id)).filter(({ type }) => type === 'eventRaised').length;
  await expect.poll(async () => [reads > 0, await eventsOf()]).toEqual([true, 1]);
  answer();
  await polled;
  await fleet.pass(3);
  await b.workflows.raiseEvent(id, 'tell', 'end');
  await fleet.pass(3);
  expect((await b.workflows.get(id))?.output).toBe('one');
});
