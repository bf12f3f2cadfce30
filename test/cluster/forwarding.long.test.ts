import { describe, expect, test, vi } from 'vitest';
import { SESSION_PATH } from '../../src/blocks/workflow/forwarding/remote-host.ts';
import { request } from '../../src/http/message.ts';
import type { IdentityOptions } from '../../src/security/identity-options.ts';
import {
  ApartFleet,
  type ApartHost,
  type ApartOptions,
  type Begun,
  callsTo,
  IDENTITY,
  lineOf,
  OWN,
  register,
  SECRET,
  tokenFor,
  twoOf,
  waitsTo,
} from '../support/apart.ts';
import type { Fleet } from '../support/fleet.ts';

const IDS = Array.from({ length: 40 }, (_, index) => `flow-${index}`);

/** Counts what a host asks its store for. */
function callsOf({ member: { store } }: ApartHost): () => number {
  const spies = (['get', 'scan', 'commit'] as const).map((name) => vi.spyOn(store, name));
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

async function receiptsIn({ memory }: Fleet): Promise<number> {
  const entries = await memory.scan({ from: 'workflows', to: 'workflowt' });
  return entries.filter(({ key }) => key.includes('receipt')).length;
}

describe('work at a workflow of another host', () => {
  test('is done there, without a call of the store here', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = await b.owned(fleet.fleet, IDS);
    const calls = callsOf(a);
    for (const instanceId of ids) await a.workflows.start('collect', 'a', { instanceId });
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'b');
    for (const id of ids) await a.workflows.pause(id);
    for (const id of ids) expect((await b.workflows.get(id))?.status).toBe('SUSPENDED');
    for (const id of ids) await a.workflows.resume(id);
    const [first = '', ...others] = ids;
    await a.workflows.terminate(first, 'over');
    const ends = Promise.all(ids.map((id) => a.workflows.run(id).ended()));
    for (const id of others) await a.workflows.raiseEvent(id, 'tell', 'end');
    expect((await ends).map(({ output }) => output)).toEqual(['over', ...others.map(() => 'a,b')]);
    expect(calls()).toBe(0);
    expect(callsTo(b)).toBeGreaterThan(0);
    expect(b.requests).toEqual([SESSION_PATH]);
  });

  test('is refused there as it would be here', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    await a.workflows.start('collect', 'a', { instanceId: id });
    await expect(a.workflows.start('collect', 'a', { instanceId: id })).rejects.toMatchObject({
      code: 'ERR_START_WORKFLOW',
      message: `an active workflow with ID "${id}" already exists`,
    });
    const missing = (await b.owned(fleet.fleet, IDS))[1] ?? '';
    const notFound = { code: 'ERR_INSTANCE_ID_NOT_FOUND' };
    await expect(a.workflows.raiseEvent(missing, 'tell', 'b')).rejects.toMatchObject(notFound);
    expect(await a.workflows.terminate(missing)).toBe(false);
    await expect(a.workflows.run(missing).ended()).rejects.toMatchObject(notFound);
  });

  test('goes on where its code is, and stays there', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = [await fleet.join(), await fleet.join()];
    register(a);
    await fleet.fleet.pass(8);
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    await a.workflows.start('collect', 'a', { instanceId: id });
    await a.workflows.raiseEvent(id, 'tell', 'end');
    expect((await a.workflows.get(id))?.status).toBe('PENDING');
    await fleet.fleet.pass(3);
    expect((await a.workflows.get(id))?.output).toBe('a');
  });

  test('many at a time go together, and keep their order for each instance', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = await b.owned(fleet.fleet, IDS);
    await Promise.all(ids.map((instanceId) => a.workflows.start('collect', '0', { instanceId })));
    const numbers = Array.from({ length: 30 }, (_, index) => String(index + 1));
    const told = [...numbers, 'end'].flatMap((one) => ids.map((id) => a.workflows.raiseEvent(id, 'tell', one)));
    await Promise.all(told);
    const ends = await Promise.all(ids.map((id) => a.workflows.run(id).ended()));
    expect(ends.map(({ output }) => output)).toEqual(ids.map(() => ['0', ...numbers].join(',')));
    expect(callsTo(b)).toBeLessThan(told.length / 3);
  });

  test('that is too large to be forwarded keeps its place among others', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = await b.owned(fleet.fleet, IDS);
    await Promise.all(ids.map((instanceId) => a.workflows.start('collect', '0', { instanceId })));
    const large = 'x'.repeat(600_000);
    const told = ['1', large, '2', 'end'].flatMap((one) => ids.map((id) => a.workflows.raiseEvent(id, 'tell', one)));
    await Promise.all(told);
    await fleet.fleet.pass(2);
    const ends = await Promise.all(ids.map((id) => a.workflows.run(id).ended()));
    expect(ends.map(({ output }) => String(output).replace(large, 'large'))).toEqual(ids.map(() => '0,1,large,2'));
  });

  test('leaves receipts, which go away', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = await b.owned(fleet.fleet, IDS);
    for (const instanceId of ids) await a.workflows.start('collect', 'a', { instanceId });
    expect(await receiptsIn(fleet.fleet)).toBeGreaterThan(0);
    await fleet.fleet.pass(3);
    expect(await receiptsIn(fleet.fleet)).toBe(1);
    await fleet.fleet.pass(600);
    expect(await receiptsIn(fleet.fleet)).toBe(0);
  });
});

describe('a call of another host', () => {
  test.each(['lost', 'cut'] as const)('whose answer or request is %s has its effect once', async (fate) => {
    await using fleet = new ApartFleet();
    const begun: Begun = new Map();
    const [a, b] = await twoOf(fleet, {}, begun);
    const ids = await b.owned(fleet.fleet, IDS);
    b.fateOf = () => fate;
    for (const instanceId of ids) {
      await fleet.fleet.pass(6);
      await a.workflows.start('collect', 'a', { instanceId });
      await fleet.fleet.pass(6);
      await a.workflows.raiseEvent(instanceId, 'tell', 'b');
      await fleet.fleet.pass(6);
      await a.workflows.raiseEvent(instanceId, 'tell', 'end');
    }
    await fleet.fleet.pass(2);
    for (const id of ids) expect((await b.workflows.get(id))?.output).toBe('a,b');
    expect([...begun]).toEqual(ids.map((id) => [id, 1]));
    expect(callsTo(b)).toBeGreaterThan(ids.length);
  });

  test('that comes after it was done through the store is not done again', async () => {
    await using fleet = new ApartFleet();
    const begun: Begun = new Map();
    const [a, b] = await twoOf(fleet, {}, begun);
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    const late: string[] = [];
    b.fateOf = (line) => {
      late.push(line);
      return 'cut';
    };
    await a.workflows.start('collect', 'a', { instanceId: id });
    await fleet.fleet.pass(6);
    await a.workflows.raiseEvent(id, 'tell', 'b');
    await fleet.fleet.pass(6);
    await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(2);
    expect((await b.workflows.get(id))?.output).toBe('a,b');
    expect(late.length).toBe(3);
    const headers = { 'sidecar-identity': await tokenFor(IDENTITY, OWN, OWN, b.member.clock.now()) };
    for (const line of late) {
      const answer = await b.exchange(headers, [line], 1);
      expect(answer).toEqual({ status: 200, replies: ['{"outcomes":[{"is":"done"}]}'] });
    }
    expect(await b.workflows.get(id)).toMatchObject({ status: 'COMPLETED', output: 'a,b' });
    expect(begun.get(id)).toBe(1);
  });

  test('that comes twice at a time is done once', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    await a.workflows.start('collect', 'a', { instanceId: id });
    const call = { key: 'key', instanceId: id, work: { type: 'eventRaised', name: 'tell', data: '"b"' } };
    const headers = { 'sidecar-identity': await tokenFor(IDENTITY) };
    const post = async (): Promise<string> => (await b.exchange(headers, [lineOf([call, call])], 1)).replies.join();
    const answers = await Promise.all([post(), post()]);
    const [done, unsure] = ['{"is":"done"}', '{"is":"unsure"}'];
    for (const answer of answers)
      expect([`${done},${unsure}`, `${unsure},${unsure}`]).toContain(/\[(.*)\]/.exec(answer)?.[1]);
    expect(await post()).toContain(`${done},${unsure}`);
    await a.workflows.raiseEvent(id, 'tell', 'end');
    expect((await a.workflows.run(id).ended()).output).toBe('a,b');
  });

  test.each([1, 2, 3, 4])('keeps the order of events of one caller, whatever is lost (%s)', async (seed) => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = (await b.owned(fleet.fleet, IDS)).slice(0, 5);
    let state = seed;
    const random = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    b.fateOf = () => (random() < 0.6 ? 'handled' : random() < 0.5 ? 'lost' : 'cut');
    for (const instanceId of ids) await a.workflows.start('collect', '0', { instanceId });
    for (let number = 1; number <= 30; number++) {
      for (const id of ids) await a.workflows.raiseEvent(id, 'tell', String(number));
      if (random() < 0.4) await fleet.fleet.pass(6);
    }
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(2);
    const expected = Array.from({ length: 31 }, (_, index) => index).join(',');
    for (const id of ids) expect((await a.workflows.get(id))?.output).toBe(expected);
  });

  test('goes through the store when the host stands still, and is not done by it later', async () => {
    await using fleet = new ApartFleet();
    const begun: Begun = new Map();
    const [a, b] = await twoOf(fleet, {}, begun);
    const ids = await b.owned(fleet.fleet, IDS);
    const [first = '', second = ''] = ids;
    await a.workflows.start('collect', 'a', { instanceId: first });
    b.member.store.pause();
    const startedAt = performance.now();
    await a.workflows.raiseEvent(first, 'tell', 'b');
    await a.workflows.start('collect', 'a', { instanceId: second });
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await fleet.fleet.pass(25, [a.member]);
    for (const id of [first, second]) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(2, [a.member]);
    b.member.store.resume();
    await b.member.clock.advance('25s');
    await fleet.fleet.pass(20);
    expect((await a.workflows.get(first))?.output).toBe('a,b');
    expect((await a.workflows.get(second))?.output).toBe('a');
    expect(begun.get(second)).toBe(1);
  });

  test('and a wait go on at the next owner when the host dies in the middle', async () => {
    await using fleet = new ApartFleet();
    const begun: Begun = new Map();
    const [a, b] = await twoOf(fleet, {}, begun);
    const ids = await b.owned(fleet.fleet, IDS);
    b.fateOf = () => 'lost';
    for (const instanceId of ids.slice(0, 4)) await a.workflows.start('collect', 'a', { instanceId });
    b.fateOf = () => 'handled';
    await fleet.fleet.pass(6);
    const ends = Promise.all(ids.slice(0, 4).map((id) => a.workflows.run(id).ended()));
    const told = ids.slice(0, 4).map((id) => a.workflows.raiseEvent(id, 'tell', 'b'));
    b.member.store.pause();
    await b.server[Symbol.asyncDispose]();
    await Promise.all(told);
    await fleet.fleet.pass(25, [a.member]);
    for (const id of ids.slice(0, 4)) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(1, [a.member]);
    expect((await ends).map(({ output }) => output)).toEqual(['a,b', 'a,b', 'a,b', 'a,b']);
  });

  test('finds its instance while shards move between hosts', async () => {
    await using fleet = new ApartFleet();
    const [a] = await twoOf(fleet);
    for (const instanceId of IDS) await a.workflows.start('collect', '0', { instanceId });
    const ends = Promise.all(IDS.map((id) => a.workflows.run(id).ended()));
    const joining = fleet.join().then(register);
    for (let number = 1; number <= 10; number++) {
      await Promise.all(IDS.map((id) => a.workflows.raiseEvent(id, 'tell', String(number))));
      if (number === 3) await joining;
      if (number > 3) await fleet.fleet.pass(1);
    }
    await Promise.all(IDS.map((id) => a.workflows.raiseEvent(id, 'tell', 'end')));
    await fleet.fleet.pass(15);
    expect((await ends).map(({ output }) => output)).toEqual(IDS.map(() => '0,1,2,3,4,5,6,7,8,9,10'));
  });
});

describe('hosts take calls', () => {
  const other: IdentityOptions = { keys: [{ secret: `${SECRET}!` }] };

  test.each<[who: string, token: () => Promise<string | undefined>, status: number]>([
    ['a host of the application', () => tokenFor(IDENTITY), 200],
    ['nobody', async () => undefined, 401],
    ['a caller without a signature', async () => 'x.y.z', 401],
    ['a host with another key', () => tokenFor(other), 401],
    ['another application', () => tokenFor(IDENTITY, { ...OWN, appId: 'cart' }), 401],
    ['the application in another namespace', () => tokenFor(IDENTITY, { ...OWN, namespace: 'test' }), 401],
    ['a host in another trust domain', () => tokenFor({ ...IDENTITY, trustDomain: 'else' }), 401],
    ['a token for another application', () => tokenFor(IDENTITY, OWN, { ...OWN, appId: 'cart' }), 401],
  ])('of %s: %s', async (_, token, status) => {
    await using fleet = new ApartFleet();
    const [, b] = await twoOf(fleet);
    const proof = await token();
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    const work = { type: 'start', name: 'collect', startAt: 0 };
    const headers = proof === undefined ? {} : { 'sidecar-identity': proof };
    const line = lineOf([{ key: 'key', instanceId: id, work }], [{ id: 7, instanceId: 'none', until: 'over' }]);
    const answer = await b.exchange(headers, [line], 2);
    expect(answer.status).toBe(status);
    expect(answer.replies.sort()).toEqual(status === 200 ? ['{"id":7}', '{"outcomes":[{"is":"done"}]}'] : []);
    expect((await b.workflows.get(id))?.status).toBe(status === 200 ? 'RUNNING' : undefined);
  });

  test('in their form, and not at the API', async () => {
    await using fleet = new ApartFleet();
    const [, b] = await twoOf(fleet);
    const headers = { 'sidecar-identity': await tokenFor(IDENTITY) };
    const wait = { id: 1, instanceId: 'i', until: 'over' };
    const works = [{ type: 'begun' }, { type: 'eventRaised', name: 1 }, null, { type: 'terminated', output: {} }];
    const lines = [
      '{',
      'null',
      '{"calls":[],"answered":[]}',
      '{"calls":[],"answered":[1],"waits":[],"left":[]}',
      '{"calls":[],"answered":[],"waits":[],"left":["1"]}',
      lineOf([null]),
      lineOf([], [{ ...wait, id: '1' }]),
      lineOf([], [{ ...wait, until: 'now' }]),
      ...works.map((work) => lineOf([{ key: 'k', instanceId: 'i', work }])),
    ];
    for (const line of lines) await expect(b.exchange(headers, [line], 1)).rejects.toThrow('another form');
    const answer = await b.member.sidecar.handle(request('POST', SESSION_PATH, { headers, body: {} }));
    expect([answer.status, answer.unrouted]).toEqual([404, true]);
  });

  test.each<[what: string, a: ApartOptions, b: ApartOptions]>([
    ['have no identity', { keys: 'none' }, { keys: 'none' }],
    ['have different keys', {}, { keys: other }],
    ['tell no address', {}, { at: 'nowhere' }],
    ['tell an address where something else answers', {}, { at: 'api' }],
  ])('through the store where hosts %s', async (_, forA, forB) => {
    await using fleet = new ApartFleet();
    const a = await fleet.join(forA);
    const b = await fleet.join(forB);
    for (const host of [a, b]) register(host);
    await fleet.fleet.pass(8);
    for (const instanceId of IDS) await a.workflows.start('collect', 'a', { instanceId });
    const ends = Promise.all(IDS.map((id) => a.workflows.run(id).ended()));
    for (const id of IDS) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(3);
    expect((await ends).map(({ output }) => output)).toEqual(IDS.map(() => 'a'));
    expect(b.requests.length).toBeLessThanOrEqual(forA.keys === 'none' || forB.at === 'nowhere' ? 0 : 1);
    const told = a.member.logger.at('info').filter(({ message }) => message.includes('identity'));
    expect(told.length).toBe(forA.keys === 'none' ? 1 : 0);
  });
});

describe('a wait for a workflow of another host', () => {
  test('is one line for many, and costs no read', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = await b.owned(fleet.fleet, IDS);
    for (const instanceId of ids) await a.workflows.start('collect', 'a', { instanceId });
    const calls = vi.spyOn(a.member.store, 'get');
    const ends = Promise.all(ids.map((id) => a.workflows.run(id).ended()));
    await fleet.fleet.pass(12);
    expect(calls).toHaveBeenCalledTimes(0);
    expect(waitsTo(b)).toBe(1);
    for (const id of ids) await b.workflows.raiseEvent(id, 'tell', 'end');
    expect((await ends).map(({ output }) => output)).toEqual(ids.map(() => 'a'));
    expect(calls).toHaveBeenCalledTimes(0);
  });

  test('ends with its own time limit, and goes on at the next owner when the host stops', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    await a.workflows.start('collect', 'a', { instanceId: id });
    const late = a.workflows
      .run(id)
      .ended({ timeout: 3_000 })
      .catch(({ code }: { code: string }) => code);
    const end = a.workflows.run(id).ended();
    await fleet.fleet.pass(4);
    expect(await late).toBe('ERR_WORKFLOW_TIMEOUT');
    fleet.fleet.members.splice(fleet.fleet.members.indexOf(b.member), 1);
    await b.member.stop();
    await fleet.fleet.pass(8);
    await a.workflows.raiseEvent(id, 'tell', 'end');
    expect((await end).output).toBe('a');
  });
});

describe('an instance without an ID of the caller', () => {
  test('is one of the host that starts it', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    for (const { workflows } of [a, b])
      for (let count = 0; count < 20; count++) {
        const run = await workflows.start('collect', 'a');
        await run.raise('tell', 'end');
        expect(await run.result()).toBe('a');
      }
    expect([callsTo(a), callsTo(b)]).toEqual([0, 0]);
  });
});
