import { setTimeout } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { SESSION_PATH } from '../../src/blocks/workflow/forwarding/remote-host.ts';
import { request } from '../../src/http/message.ts';
import { ConflictError } from '../../src/state/errors.ts';
import {
  ApartFleet,
  type ApartHost,
  callsTo,
  IDENTITY,
  lineOf,
  OWN,
  tokenFor,
  twoOf,
  waitsTo,
} from '../support/apart.ts';

const IDS = Array.from({ length: 40 }, (_, index) => `flow-${index}`);
/** What is silent is given up in real time. */
const GIVEN_UP = { timeout: 20_000, interval: 50 };

/** Two hosts, and instances of the second one that the first one waits for. */
async function waiting(fleet: ApartFleet) {
  const [a, b] = await twoOf(fleet);
  const ids = await b.owned(fleet.fleet, IDS);
  for (const instanceId of ids) await a.workflows.start('collect', 'a', { instanceId });
  const ends = Promise.all(ids.map(async (id) => (await a.workflows.run(id).ended()).output));
  await vi.waitFor(() => expect(waitsTo(b)).toBe(1), GIVEN_UP);
  // A test that fails stops the hosts before they end.
  ends.catch(() => undefined);
  return { a, b, ids, ends };
}

/** Counts the waits of other hosts that are given up. */
function leftWaits(): () => number {
  const abort = vi.spyOn(AbortController.prototype, 'abort');
  const count = (): number => abort.mock.calls.filter(([reason]) => String(reason).includes('nobody waits')).length;
  const before = count();
  return () => count() - before;
}

const cut = ({ sockets }: ApartHost): void => {
  for (const socket of sockets) socket.destroy();
};

/** Refuses the next commit about an instance, as when its shard had been with another host meanwhile. */
function refuseOnce({ member: { store } }: ApartHost, id: string): void {
  const commit = store.commit.bind(store);
  store.commit = (batch) => {
    if (!batch.put?.some(({ key }) => key.includes(id))) return commit(batch);
    store.commit = commit;
    return Promise.reject(new ConflictError('the shard'));
  };
}

/** Has commits about an instance wait until `goOn` is called. */
function holdCommits({ member: { store } }: ApartHost, id: string) {
  const commit = store.commit.bind(store);
  const held: (() => void)[] = [];
  store.commit = async (batch) => {
    if (batch.put?.some(({ key }) => key.includes(id))) await new Promise<void>((resolve) => held.push(resolve));
    return commit(batch);
  };
  const goOn = (): void => {
    store.commit = commit;
    for (const resolve of held) resolve();
  };
  return { held, goOn };
}

describe('a session of one host with another', () => {
  test('that breaks loses no wait, and the next call begins another one', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids, ends } = await waiting(fleet);
    const left = leftWaits();
    cut(b);
    await vi.waitFor(() => expect(left()).toBe(ids.length), GIVEN_UP);
    await fleet.fleet.pass(6);
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    expect(b.requests).toEqual([SESSION_PATH, SESSION_PATH]);
    await fleet.fleet.pass(2);
    expect(await ends).toEqual(ids.map(() => 'a'));
  });

  test('that breaks again and again loses no wait and no event', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids, ends } = await waiting(fleet);
    for (let number = 1; number <= 5; number++) {
      const told = ids.map((id) => a.workflows.raiseEvent(id, 'tell', String(number)));
      cut(b);
      await Promise.all(told);
      await fleet.fleet.pass(6);
    }
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(2);
    expect(await ends).toEqual(ids.map(() => 'a,1,2,3,4,5'));
  });

  test('that breaks keeps the order of events that were under way, and of those that waited for them', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids, ends } = await waiting(fleet);
    const told: Promise<void>[] = [];
    const tell = (number: string): void => {
      for (const id of ids) told.push(a.workflows.raiseEvent(id, 'tell', number));
    };
    b.fateOf = () => {
      tell('2');
      tell('3');
      return 'cut';
    };
    tell('1');
    await vi.waitFor(() => expect(told).toHaveLength(3 * ids.length), GIVEN_UP);
    await Promise.all(told);
    b.fateOf = () => 'handled';
    await fleet.fleet.pass(6);
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(2);
    expect(await ends).toEqual(ids.map(() => 'a,1,2,3'));
  });

  test('keeps events behind an earlier one that the other host could not store', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids, ends } = await waiting(fleet);
    const [id = ''] = ids;
    const told: Promise<void>[] = [];
    const tell = (number: string): unknown => told.push(a.workflows.raiseEvent(id, 'tell', number));
    b.fateOf = () => {
      b.fateOf = () => 'handled';
      tell('2');
      tell('3');
      refuseOnce(b, id);
      return 'handled';
    };
    const { held, goOn } = holdCommits(a, id);
    tell('1');
    await vi.waitFor(() => expect(held).not.toHaveLength(0), GIVEN_UP);
    await setTimeout(100);
    // Meanwhile the other host gets over its failure.
    await fleet.fleet.pass(6, [b.member]);
    await setTimeout(100);
    goOn();
    await Promise.all(told);
    await fleet.fleet.pass(6);
    for (const each of ids) await a.workflows.raiseEvent(each, 'tell', 'end');
    await fleet.fleet.pass(2);
    expect((await ends)[0]).toBe('a,1,2,3');
  });

  test('that falls silent is given up by both hosts, and loses no wait', async () => {
    await using fleet = new ApartFleet();
    const { b, ids, ends } = await waiting(fleet);
    const left = leftWaits();
    b.isSilent = true;
    for (const id of ids) await b.workflows.raiseEvent(id, 'tell', 'b');
    await vi.waitFor(() => expect(left()).toBe(ids.length), GIVEN_UP);
    await vi.waitFor(() => expect(b.sockets.every(({ destroyed }) => destroyed)).toBe(true), GIVEN_UP);
    for (const id of ids) await b.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(2);
    expect(await ends).toEqual(ids.map(() => 'a,b'));
  });

  test('stays when nothing is to be said', async () => {
    await using fleet = new ApartFleet();
    const { b, ids, ends } = await waiting(fleet);
    await vi.waitFor(() => expect(b.beats).toBeGreaterThan(7), GIVEN_UP);
    expect(b.sockets.map(({ destroyed }) => destroyed)).toEqual([false]);
    for (const id of ids) await b.workflows.raiseEvent(id, 'tell', 'end');
    expect(await ends).toEqual(ids.map(() => 'a'));
  });

  test('goes over into another one after a minute, with its waits and without a read', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids, ends } = await waiting(fleet);
    const reads = vi.spyOn(a.member.store, 'get');
    await fleet.fleet.pass(62);
    await vi.waitFor(() => expect(waitsTo(b)).toBe(2), GIVEN_UP);
    expect(b.requests).toHaveLength(2);
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    expect(await ends).toEqual(ids.map(() => 'a'));
    expect(reads).toHaveBeenCalledTimes(0);
  });

  test('ends with waits that nobody waits for', async () => {
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const [id = ''] = await b.owned(fleet.fleet, IDS);
    await a.workflows.start('collect', 'a', { instanceId: id });
    const left = leftWaits();
    const leaving = new AbortController();
    const wait = a.workflows
      .run(id)
      .ended({ signal: leaving.signal })
      .catch(() => 'left');
    await vi.waitFor(() => expect(waitsTo(b)).toBe(1), GIVEN_UP);
    leaving.abort();
    expect(await wait).toBe('left');
    await vi.waitFor(() => expect(left()).toBe(1), GIVEN_UP);
    await fleet.fleet.pass(62);
    expect(b.requests).toHaveLength(1);
    await vi.waitFor(() => expect(b.sockets.every(({ destroyed }) => destroyed)).toBe(true), GIVEN_UP);
  });

  test('ends at once when either host stops', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids, ends } = await waiting(fleet);
    fleet.fleet.members.splice(fleet.fleet.members.indexOf(b.member), 1);
    await b.member.stop();
    expect(b.member.logger.at('error')).toEqual([]);
    await fleet.fleet.pass(10);
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    expect(await ends).toEqual(ids.map(() => 'a'));
  });

  test('ends its waits when the host that waits stops', async () => {
    await using fleet = new ApartFleet();
    const { a, b, ids } = await waiting(fleet);
    const left = leftWaits();
    fleet.fleet.members.splice(fleet.fleet.members.indexOf(a.member), 1);
    await a.member.stop();
    expect(a.member.logger.at('error')).toEqual([]);
    await vi.waitFor(() => expect(left()).toBe(ids.length), GIVEN_UP);
    expect(b.member.logger.at('error')).toEqual([]);
  });

  test('knows nothing of another one, such as that of a host before its restart', async () => {
    await using fleet = new ApartFleet();
    const [, b] = await twoOf(fleet);
    const [first = '', second = '', third = ''] = await b.owned(fleet.fleet, IDS);
    for (const instanceId of [first, second, third]) await b.workflows.start('collect', 'a', { instanceId });
    const headers = { 'sidecar-identity': await tokenFor(IDENTITY, OWN, OWN, b.member.clock.now()) };
    const wait = (instanceId: string): string => lineOf([], [{ id: 1, instanceId, until: 'over' }]);
    const none = lineOf([], [{ id: 2, instanceId: 'none', until: 'over' }]);
    const left = leftWaits();
    const sessions = [first, second].map((id) => b.exchange(headers, [wait(id)], 1));
    // Another one that its host leaves while it waits.
    await b.exchange(headers, [wait(third), none], 1);
    await vi.waitFor(() => expect(left()).toBe(1), GIVEN_UP);
    for (const id of [second, first]) await b.workflows.raiseEvent(id, 'tell', 'end');
    const views = (await Promise.all(sessions)).map(({ replies: [reply = ''] }) => JSON.parse(reply).view.instanceId);
    expect(views).toEqual([first, second]);
  });

  test('is refused to hosts of the release before, whose calls then go through the store', async () => {
    await using fleet = new ApartFleet();
    const [, b] = await twoOf(fleet);
    const headers = { 'sidecar-identity': await tokenFor(IDENTITY) };
    const body = { format: 1, calls: [], answered: [] };
    for (const path of ['/hosts/v1/workflows/calls', '/hosts/v1/workflows/waits'])
      expect((await b.member.sidecar.peers.handle(request('POST', path, { headers, body }))).status).toBe(404);
    expect(callsTo(b)).toBe(0);
  });
});
