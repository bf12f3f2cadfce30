import { expect, test } from 'vitest';
import { ApartFleet, type ApartHost, register, twoOf } from '../support/apart.ts';

const IDS = Array.from({ length: 40 }, (_, index) => `flow-${index}`);
const LAST = 30;
/** Too large to be forwarded. */
const LARGE = 'x'.repeat(530_000);

const sleep = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

function randomOf(seed: number): () => number {
  let state = seed * 7_919 + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Reads take a while, as those of a server do. */
function readSlowly({ member: { store } }: ApartHost): void {
  const get = store.get.bind(store);
  store.get = async (key) => {
    const found = await get(key);
    await sleep(3);
    return found;
  };
}

/** Some reads and commits are tried again, as after a lost connection: later ones come before them. */
function tryAgain({ member: { store } }: ApartHost, random: () => number): void {
  const [get, commit] = [store.get.bind(store), store.commit.bind(store)];
  const isLost = (): boolean => random() < 0.1;
  store.get = async (key) => {
    if (isLost()) await sleep(15);
    return get(key);
  };
  store.commit = async (batch) => {
    if (isLost()) await sleep(15);
    return commit(batch);
  };
}

test.each([
  ['where some are too large', { large: 0.1, lost: 0, joins: false, cuts: false, stops: false }],
  ['where some are lost', { large: 0, lost: 0.3, joins: false, cuts: false, stops: false }],
  ['while shards move', { large: 0, lost: 0, joins: true, cuts: false, stops: false }],
  ['while their host stops', { large: 0, lost: 0, joins: false, cuts: true, stops: true }],
  ['where connections to the store are cut', { large: 0.12, lost: 0.1, joins: false, cuts: true, stops: false }],
  ['with all of that', { large: 0.1, lost: 0.25, joins: true, cuts: true, stops: true }],
] as const)(
  'events that a caller tells without waiting keep their order %s',
  async (_, trouble) => {
    const random = randomOf(1);
    await using fleet = new ApartFleet();
    const [a, b] = await twoOf(fleet);
    const ids = (await b.owned(fleet.fleet, IDS)).slice(0, 12);
    for (const instanceId of ids) await a.workflows.start('collect', '0', { instanceId });
    readSlowly(a);
    if (trouble.cuts) for (const host of [a, b]) tryAgain(host, random);
    const fateOf = (): 'handled' | 'lost' | 'cut' => {
      if (random() >= trouble.lost) return 'handled';
      return random() < 0.5 ? 'lost' : 'cut';
    };
    b.fateOf = fateOf;
    const told: Promise<void>[] = [];
    let joined: Promise<void> | undefined;
    let stopped: Promise<void> | undefined;
    for (let number = 1; number <= LAST; number++) {
      if (trouble.joins && number === 6) joined = fleet.join().then((host) => register(host));
      if (trouble.stops && number === 12) stopped = b.member.sidecar.stop();
      for (const id of ids)
        told.push(a.workflows.raiseEvent(id, 'tell', `${number}${random() < trouble.large ? LARGE : ''}`));
      if (random() < 0.6) await sleep(random() * 4);
      await joined;
      if (random() < (joined === undefined ? 0.15 : 0.4)) await fleet.fleet.pass(joined === undefined ? 6 : 1);
    }
    await Promise.all(told);
    b.fateOf = () => 'handled';
    await fleet.fleet.pass(15);
    await stopped;
    for (const id of ids) await a.workflows.raiseEvent(id, 'tell', 'end');
    await fleet.fleet.pass(3);
    const expected = Array.from({ length: LAST + 1 }, (_one, index) => index).join(',');
    for (const id of ids) {
      const { output } = await a.workflows.run(id).ended();
      expect(String(output).replaceAll(LARGE, '')).toBe(expected);
    }
  },
  60_000,
);
