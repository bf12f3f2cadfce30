import { describe, expect, test } from 'vitest';
import { type ActorHost, ActorHosts } from '../support/actor-hosts.ts';
import type { Answer } from '../support/http.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from '../support/servers.ts';

const IDS = Array.from({ length: 32 }, (_, index) => `counter-${index}`);
/** A host is considered dead 10 s after its last sign, at most 5 s old; a busy machine needs longer. */
const TAKEOVER = { timeout: 60_000, interval: 100 };

/** The calls of one caller of each actor, one after the other, until they are ended. */
class Callers {
  /** The greatest count that was acknowledged, by actor. */
  readonly acknowledged = new Map<string, number>();
  readonly failed: Answer[] = [];
  calls = 0;
  #isOver = false;
  readonly #running: Promise<unknown>;

  constructor(hosts: readonly ActorHost[]) {
    this.#running = Promise.all(IDS.map((id, index) => this.#call(id, hosts[index % hosts.length] as ActorHost)));
  }

  async #call(id: string, host: ActorHost): Promise<void> {
    while (!this.#isOver) {
      const answer = await host.add(id);
      this.calls++;
      if (answer.status === 200) this.acknowledged.set(id, Number(answer.text));
      else this.failed.push(answer);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}

const statuses = (answers: readonly Answer[]): readonly number[] => [...new Set(answers.map(({ status }) => status))];
const addAll = (host: ActorHost): Promise<readonly Answer[]> => Promise.all(IDS.map((id) => host.add(id)));
const countsOf = async (host: ActorHost): Promise<readonly number[]> =>
  (await addAll(host)).map(({ text }) => Number(text) - 1);

/** Waits until both hosts have actors. */
async function divided(hosts: ActorHosts, a: ActorHost, others: readonly string[]): Promise<void> {
  const have = async (): Promise<readonly string[]> => {
    expect(statuses(await addAll(a))).toEqual([200]);
    const places = new Set(hosts.places.values());
    return others.filter((name) => places.has(name));
  };
  await expect.poll(have, TAKEOVER).toEqual(others);
}

/** Some actor of a host. */
function actorAt(hosts: ActorHosts, name: string): string {
  const found = [...hosts.places].find(([, host]) => host === name)?.[0];
  if (found === undefined) throw new Error(`host ${name} has no actor`);
  return found;
}

const urlOf = ({ port }: OwnServer, engine: string): string =>
  engine === 'redis' ? `redis://127.0.0.1:${port}` : `postgresql://postgres@127.0.0.1:${port}/postgres`;

describe.each([
  { engine: 'postgresql', isThere: hasPostgresql, start: () => startPostgresql() },
  { engine: 'redis', isThere: hasRedis, start: () => startRedis() },
])('actors of several processes on $engine', ({ engine, isThere, start }) => {
  test.runIf(isThere())(
    'move to a host that joins, and away from one that stops, and no call fails or is lost',
    async () => {
      await using server = await start();
      await using hosts = new ActorHosts(urlOf(server, engine));
      const a = await hosts.join('a');
      const callers = new Callers([a]);
      const b = await hosts.join('b');
      await expect.poll(() => new Set(hosts.places.values()), TAKEOVER).toEqual(new Set(['a', 'b']));
      const moved = actorAt(hosts, 'b');
      const c = await hosts.join('c');
      await expect.poll(() => new Set(hosts.places.values()), TAKEOVER).toEqual(new Set(['a', 'b', 'c']));
      await c.end('SIGTERM');
      await expect.poll(() => new Set(hosts.places.values()), TAKEOVER).toEqual(new Set(['a', 'b']));
      await callers.end();
      expect(callers.failed.map(({ text }) => text)).toEqual([]);
      expect(await countsOf(b)).toEqual(IDS.map((id) => callers.acknowledged.get(id)));
      // Each count once, over all hosts: no turn was beside another one.
      for (const id of IDS) {
        const lines = hosts.lines.filter(({ actor }) => actor === id);
        const counts = lines.filter(({ what }) => what === 'T').map(({ text }) => Number(text));
        expect(counts).toEqual(counts.map((_, index) => index + 1));
        // Deactivated where it was before its first turn elsewhere.
        for (const [index, line] of lines.entries()) {
          const before = lines[index - 1];
          if (before !== undefined && before.host !== line.host) expect([id, before.what]).toEqual([id, 'D']);
        }
      }
      expect(hosts.lines.some(({ what, actor, host }) => what === 'D' && actor === moved && host === 'a')).toBe(true);
    },
    180_000,
  );

  test.runIf(isThere())(
    'only calls in flight fail when their host is killed, and nothing acknowledged is lost',
    async () => {
      await using server = await start();
      await using hosts = new ActorHosts(urlOf(server, engine));
      const [a, b] = [await hosts.join('a'), await hosts.join('b')];
      await divided(hosts, a, ['a', 'b']);
      const ofB = IDS.filter((id) => hosts.places.get(id) === 'b');
      const callers = new Callers([a]);
      const { calls } = callers;
      await expect.poll(() => callers.calls, TAKEOVER).toBeGreaterThan(calls + 200);
      await b.end('SIGKILL');
      const killedAt = performance.now();
      const last = hosts.lines.length;
      const areHere = (): boolean => {
        const here = new Set(
          hosts.lines.slice(last).flatMap(({ host, actor, what }) => (what === 'T' && host === 'a' ? [actor] : [])),
        );
        return ofB.every((id) => here.has(id));
      };
      await expect.poll(areHere, TAKEOVER).toBe(true);
      console.log(
        `${engine}: calls of a killed host's actors go on after ${Math.round(performance.now() - killedAt)} ms`,
      );
      await callers.end();
      // One call at a time for each actor: that in flight is the only one that may fail.
      expect(callers.failed.length).toBeLessThanOrEqual(ofB.length);
      expect(callers.failed.map(({ error }) => error)).toEqual(
        callers.failed.map(() => [500, 'ERR_ACTOR_INVOKE_METHOD']),
      );
      const counts = await countsOf(a);
      for (const [index, id] of IDS.entries()) {
        const acknowledged = callers.acknowledged.get(id) ?? 0;
        // The turn in flight at the kill may have been stored.
        expect(counts[index]).toBeGreaterThanOrEqual(acknowledged);
        expect(counts[index]).toBeLessThanOrEqual(acknowledged + (ofB.includes(id) ? 1 : 0));
      }
    },
    180_000,
  );

  test.runIf(isThere())(
    'have their reminders run elsewhere after a kill: a tick that was recorded never again, one under way once more',
    async () => {
      await using server = await start();
      await using hosts = new ActorHosts(urlOf(server, engine));
      const [a, b] = [await hosts.join('a'), await hosts.join('b')];
      await divided(hosts, a, ['a', 'b']);
      const actor = actorAt(hosts, 'b');
      const set = async (name: string, body: object, host = a): Promise<void> =>
        expect((await host.ask('POST', `${actor}/reminders/${name}`, { body })).status).toBe(204);
      const isGone = async (name: string): Promise<boolean> =>
        (await a.ask('GET', `${actor}/reminders/${name}`, {})).status !== 200;
      await set('over', { dueTime: '0s' });
      await expect.poll(() => isGone('over'), TAKEOVER).toBe(true);
      await set('counted', { dueTime: '0s', period: 'R6/PT1S' });
      await set('again', { dueTime: '0s', period: '1s' });
      await set('under-way', { dueTime: '0s', data: { hangsAt: 'b' } });
      // It holds the turn until the end; all others wait behind it.
      await expect.poll(() => hosts.of('B', 'under-way'), TAKEOVER).toHaveLength(1);
      const recorded = hosts.of('E', 'counted').length;
      // When this is stored, so are the ends of the ticks before.
      await set('stored', { dueTime: '1h' }, b);
      await b.end('SIGKILL');
      const killedAt = performance.now();
      const elsewhere = (name: string): number => hosts.of('E', name).filter(({ host }) => host === 'a').length;
      await expect.poll(() => elsewhere('again'), TAKEOVER).toBeGreaterThan(0);
      console.log(
        `${engine}: reminders of a killed host tick elsewhere after ${Math.round(performance.now() - killedAt)} ms`,
      );
      await expect.poll(() => elsewhere('under-way'), TAKEOVER).toBe(1);
      await expect.poll(() => isGone('counted'), TAKEOVER).toBe(true);
      await expect.poll(() => elsewhere('again'), TAKEOVER).toBeGreaterThan(2);
      expect(hosts.of('B', 'under-way').map(({ host }) => host)).toEqual(['b', 'a']);
      expect(hosts.of('B', 'over').length).toBe(1);
      // Those that were missed become one tick, which counts as all of them.
      expect(hosts.of('E', 'counted').length).toBeGreaterThan(recorded);
      expect(hosts.of('E', 'counted').length).toBeLessThanOrEqual(6);
      expect(await isGone('under-way')).toBe(true);
    },
    180_000,
  );

  test.runIf(isThere())(
    'get the timers that other hosts set while they move, and lose those of the host that they leave',
    async () => {
      await using server = await start();
      await using hosts = new ActorHosts(urlOf(server, engine));
      const a = await hosts.join('a');
      expect(statuses(await addAll(a))).toEqual([200]);
      let [rounds, isOver] = [0, false];
      const answers: Answer[] = [];
      const setAll = async (): Promise<void> => {
        const name = `timer-${rounds++}`;
        const body = { dueTime: '0s' };
        answers.push(...(await Promise.all(IDS.map((id) => a.ask('POST', `${id}/timers/${name}`, { body })))));
        expect(answers.filter(({ status }) => status !== 204).map(({ text }) => text)).toEqual([]);
      };
      const setting = (async () => {
        while (!isOver) await setAll();
      })();
      // It is awaited below: what fails before must not leave it unhandled.
      setting.catch(() => undefined);
      const b = await hosts.join('b');
      const atB = (): number => hosts.lines.filter(({ what, host }) => what === 'E' && host === 'b').length;
      await expect.poll(atB, TAKEOVER).toBeGreaterThan(0);
      await b.end('SIGTERM');
      isOver = true;
      await setting;
      const last = `timer-${rounds}`;
      await setAll();
      await expect.poll(() => new Set(hosts.of('E', last).map(({ actor }) => actor)), TAKEOVER).toEqual(new Set(IDS));
      const { lines } = hosts;
      const ticks = lines.filter(({ what }) => what === 'B').map(({ actor, text }) => `${actor} ${text}`);
      expect(ticks.length).toBe(new Set(ticks).size);
      // A timer without a tick was one of an actor that was deactivated after it had been set.
      const deactivated = new Set(lines.filter(({ what }) => what === 'D').map(({ actor }) => actor));
      const ticked = new Set(ticks);
      for (const id of IDS.filter((id) => !deactivated.has(id)))
        for (let round = 0; round < rounds; round++) expect(ticked).toContain(`${id} timer-${round}`);
      expect(deactivated.size).toBeGreaterThan(5);
      expect(deactivated.size).toBeLessThan(IDS.length);
    },
    180_000,
  );
});
