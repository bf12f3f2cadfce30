import { expect, test } from 'vitest';
import { defineActivity, defineWorkflow } from '../../src/index.ts';
import { IDS, leave, left, OUTPUTS, outputs, startAll, states, warnings, web, worker } from '../support/albums.ts';
import { Fleet } from '../support/fleet.ts';

test('an activity runs at the host that has its code, whichever host runs the workflow', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet);
  const second = await web(fleet);
  const { member, ran } = await worker(fleet);
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(4);
  expect(await outputs(second)).toEqual(OUTPUTS);
  expect(ran.toSorted()).toEqual(IDS.toSorted());
  expect([warnings(first), warnings(second), warnings(member)]).toEqual([[], [], []]);
  expect(await left(fleet)).toEqual([]);
});

test('it runs there as well if the store does not tell of what other hosts write', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet, { isApart: true });
  const { ran } = await worker(fleet, undefined, { isApart: true });
  await fleet.pass(8);
  await startAll(first);
  await fleet.pass(8);
  expect([await outputs(first), ran.toSorted(), await left(fleet)]).toEqual([OUTPUTS, IDS.toSorted(), []]);
});

test('its input, failures, retries, time limit and output are as at the host of the workflow', async () => {
  await using fleet = new Fleet();
  const first = await fleet.join();
  const { member } = await worker(fleet);
  const attempts: string[] = [];
  const reasons: unknown[] = [];
  member.sidecar.workflows.register(
    defineActivity('picky', (input: { n: number }, { attempt, instanceId, activityId }) => {
      attempts.push(`${instanceId} ${activityId} ${attempt} ${JSON.stringify(input)}`);
      if (attempt < 3) throw new RangeError('out of range');
      return { twice: input.n * 2 };
    }),
    defineActivity('slow', (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push((signal.reason as Error).message));
      return new Promise(() => undefined);
    }),
    defineActivity('large', () => 'x'.repeat(7 * 1024 * 1024)),
  );
  first.sidecar.workflows.register(
    defineWorkflow('all', async (ctx) => {
      const seen: string[] = [];
      const isRetried = ({ errorType }: { errorType: string }): boolean => seen.push(errorType) > 0;
      const retry = { maxRetries: 3, delay: '1s', retryIf: isRetried } as const;
      const picky = await ctx.callActivity('picky', { n: 21 }, { retry });
      const failed = (name: string, timeout?: '2s'): Promise<string> =>
        ctx.callActivity(name, undefined, { timeout }).then(
          () => 'none',
          (error: Error) => error.message,
        );
      return { picky, seen, slow: await failed('slow', '2s'), large: await failed('large') };
    }),
  );
  await fleet.pass(3);
  for (const instanceId of IDS.slice(0, 6)) await first.sidecar.workflows.start('all', undefined, { instanceId });
  await fleet.pass(15);
  for (const { output, status } of (await states(first))
    .slice(0, 6)
    .map((state) => state ?? { output: 0, status: 0 })) {
    expect([status, output]).toEqual([
      'COMPLETED',
      {
        picky: { twice: 42 },
        seen: ['RangeError', 'RangeError'],
        slow: expect.stringContaining('no result within 2000 ms'),
        large: expect.stringContaining('at most 6291456 bytes are accepted'),
      },
    ]);
  }
  expect(attempts).toHaveLength(18);
  expect(attempts).toContain('flow-0 1 3 {"n":21}');
  expect(reasons).toEqual(Array(6).fill('no result within 2000 ms'));
  expect(await left(fleet)).toEqual([]);
});

test('no more run at a host than it may run at a time, and each host that has room gets some', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet);
  const ends: (() => void)[] = [];
  const wait = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
  const options = { workflows: { maxConcurrentActivities: 3 } };
  const [one, other] = [await worker(fleet, wait, options), await worker(fleet, wait, options)];
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(4);
  expect([one.ran.length, other.ran.length]).toEqual([3, 3]);
  // They wait for a host, not for code.
  await fleet.pass(10);
  expect(warnings(first)).toEqual([]);
  for (let round = 0; round < 10; round++) {
    for (const end of ends.splice(0)) end();
    await fleet.pass(1);
    expect(ends.length).toBeLessThanOrEqual(6);
  }
  expect(await outputs(first)).toEqual(OUTPUTS);
  expect([...one.ran, ...other.ran].sort()).toEqual(IDS.toSorted());
});

test('a host that is stopped gives back what has not ended, and another one runs it', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet);
  const reasons: unknown[] = [];
  const one = await worker(fleet, () => new Promise(() => undefined));
  one.member.sidecar.workflows.register(
    defineActivity('hang', (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push((signal.reason as Error).message));
      return new Promise(() => undefined);
    }),
  );
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(4);
  expect(one.ran).toHaveLength(IDS.length);
  const other = await worker(fleet);
  await leave(fleet, one.member);
  await fleet.pass(4);
  expect([await outputs(first), other.ran.toSorted()]).toEqual([OUTPUTS, IDS.toSorted()]);
  // It was no crash.
  expect([warnings(other.member), await left(fleet)]).toEqual([[], []]);
});

test('a host that stood still while it ran activities is followed by another one, and records nothing', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet);
  const ends: (() => void)[] = [];
  const one = await worker(fleet, () => new Promise<void>((resolve) => ends.push(resolve)));
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(4);
  const other = await worker(fleet);
  await fleet.pass(3);
  one.member.store.pause();
  for (const end of ends) end();
  await fleet.pass(25, [first, other.member]);
  expect([await outputs(first), other.ran.toSorted()]).toEqual([OUTPUTS, IDS.toSorted()]);
  one.member.store.resume();
  await one.member.clock.settled();
  await fleet.pass(3);
  expect([await outputs(first), await left(fleet)]).toEqual([OUTPUTS, []]);
  expect(one.member.logger.at('error')).toEqual([]);
});

test('the host of the workflow may go meanwhile: the result reaches the next one, and nothing runs again', async () => {
  await using fleet = new Fleet();
  const first = await web(fleet);
  const ends: (() => void)[] = [];
  const { ran } = await worker(fleet, () => new Promise<void>((resolve) => ends.push(resolve)));
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(4);
  const second = await web(fleet);
  await fleet.pass(2);
  await leave(fleet, first);
  await fleet.pass(3);
  for (const end of ends.splice(0, 12)) end();
  await fleet.pass(3);
  const third = await web(fleet);
  await fleet.pass(3);
  second.store.pause();
  for (const end of ends.splice(0)) end();
  await fleet.pass(
    25,
    fleet.members.filter((member) => member !== second),
  );
  second.store.resume();
  await fleet.pass(5);
  expect([await outputs(third), ran.toSorted()]).toEqual([OUTPUTS, IDS.toSorted()]);
  expect(await left(fleet)).toEqual([]);
});

test('a workflow that is canceled or ended stops its activities at the other host; one that is paused begins none', async () => {
  await using fleet = new Fleet();
  const first = await fleet.join();
  const reasons: string[] = [];
  const { member } = await worker(fleet);
  member.sidecar.workflows.register(
    defineActivity('hang', (_, { signal, instanceId }) => {
      signal.addEventListener('abort', () => reasons.push(`${instanceId} ${(signal.reason as Error).name}`));
      return new Promise(() => undefined);
    }),
  );
  first.sidecar.workflows.register(
    defineWorkflow('hanging', (ctx) => ctx.callActivity('hang')),
    defineWorkflow('later', async (ctx) => {
      await ctx.sleep('10s');
      return ctx.callActivity('resize', ctx.instanceId);
    }),
  );
  await fleet.pass(3);
  const ids = IDS.slice(0, 8);
  for (const instanceId of ids) await first.sidecar.workflows.start('hanging', undefined, { instanceId });
  await fleet.pass(4);
  for (const [index, id] of ids.entries())
    await (index % 2 === 0 ? first.sidecar.workflows.cancel(id) : first.sidecar.workflows.terminate(id));
  await fleet.pass(2);
  expect(reasons.toSorted()).toEqual(ids.map((id) => `${id} CanceledError`).sort());
  expect(await left(fleet)).toEqual([]);
  await leave(fleet, member);
  const paused = IDS.slice(8, 16);
  for (const instanceId of paused) await first.sidecar.workflows.start('later', undefined, { instanceId });
  const peer = await web(fleet);
  await fleet.pass(15);
  for (const id of paused) await first.sidecar.workflows.pause(id);
  await fleet.pass(2);
  const next = await worker(fleet);
  await fleet.pass(5);
  expect(next.ran).toEqual([]);
  for (const id of paused) await peer.sidecar.workflows.resume(id);
  await fleet.pass(5);
  expect(next.ran.toSorted()).toEqual(paused.toSorted());
  expect(await left(fleet)).toEqual([]);
});

test('an activity that no host has waits, seen from all, with one warning, until its code comes', async () => {
  await using fleet = new Fleet();
  const [first, second] = [await web(fleet), await web(fleet)];
  await fleet.pass(3);
  await startAll(first);
  await fleet.pass(10);
  const missingCode = [{ kind: 'activity', name: 'resize' }];
  for (const member of [first, second])
    for (const state of await states(member)) expect(state).toMatchObject({ status: 'RUNNING', missingCode });
  const text = 'instances wait for the code of activity "resize": register it, or terminate them';
  expect([...warnings(first), ...warnings(second)]).toEqual([text, text]);
  const before = await fleet.memory.scan({ from: 'workflows!', to: 'workflows"' });
  await fleet.pass(30);
  expect(await fleet.memory.scan({ from: 'workflows!', to: 'workflows"' })).toEqual(before);
  const { ran } = await worker(fleet);
  await fleet.pass(5);
  expect([await outputs(first), ran.toSorted(), await left(fleet)]).toEqual([OUTPUTS, IDS.toSorted(), []]);
  expect((await states(second)).map((state) => state?.missingCode)).toEqual(IDS.map(() => undefined));
});

test('what a run leaves open when it continues as new, or has given up, does not reach the next one', async () => {
  await using fleet = new Fleet();
  const first = await fleet.join();
  const ends: (() => void)[] = [];
  const { ran } = await worker(fleet, () => new Promise<void>((resolve) => ends.push(resolve)));
  first.sidecar.workflows.register(
    defineWorkflow('again', async (ctx, round: number) => {
      const open = [0, 1, 2].map((nth) => ctx.callActivity<string>('resize', `${round}.${nth}`));
      if (round === 3) return Promise.all(open);
      await ctx.sleep('3s');
      return ctx.continueAsNew(round + 1);
    }),
  );
  await fleet.pass(3);
  for (const instanceId of IDS) await first.sidecar.workflows.start('again', 1, { instanceId });
  await fleet.pass(9);
  for (const end of ends.splice(0)) end();
  await fleet.pass(3);
  expect(await outputs(first)).toEqual(IDS.map(() => ['picture of 3.0', 'picture of 3.1', 'picture of 3.2']));
  expect(ran.filter((one) => one === '3.0')).toHaveLength(IDS.length);
  expect(await left(fleet)).toEqual([]);
});
