import { describe, expect, test } from 'vitest';
import { canFailDisk } from '../../support/failing-disk.ts';
import { hasPostgresql, hasRedis } from '../../support/servers.ts';
import type { Findings } from './checks.ts';
import { Faults } from './faults.ts';
import { reportOf, takeoverLines } from './report.ts';
import { loseOnPurpose } from './sabotage.ts';
import { takeoverOf } from './takeover.ts';
import { type Engine, Torture } from './torture.ts';

/** Long enough that the others take over: a host is dead after 10 s. */
const PAUSE_MS = 13_000;
const NOTHING: Findings = { lost: [], again: [], disordered: [], wrong: [], undecided: [] };

/** Waits until the hosts have made more than so many calls of each kind: a busy machine needs longer than the faults. */
async function untilMore(torture: Torture, least: Readonly<Record<string, number>>): Promise<void> {
  const isEnough = (): boolean =>
    Object.entries(least).every(([what, count]) => torture.records.acknowledged(what).length > count);
  await torture.until(isEnough, 30_000, `more calls than ${JSON.stringify(least)}`);
}

// One engine with hosts that call each other, one with hosts that do everything through the store.
const SHARED: readonly (readonly [engine: Engine, hasAddresses: boolean])[] = [
  ...(hasPostgresql() ? [['postgresql', true] as const] : []),
  ...(hasRedis() ? [['redis', false] as const] : []),
];

describe.each(SHARED)('three hosts on %s', (engine, hasAddresses) => {
  test('lose nothing and do nothing twice that is recorded, whatever is killed, cut off or stands still', async () => {
    const seed = Date.now() % 1_000_000;
    await using torture = await Torture.start({ engine, seed, hasAddresses, pace: 0.6 });
    const faults = new Faults(torture);
    await faults.pause(PAUSE_MS);
    await faults.run({ stop: 1, cut: 6, crash: 1 }, PAUSE_MS / 1_000);
    const { life, at } = await faults.end('kill');
    await torture.until(
      () => takeoverOf(torture.records, life, at)?.lastMs !== Number.POSITIVE_INFINITY,
      30_000,
      'taken over',
    );
    await untilMore(torture, { publish: 100, schedule: 30, start: 30, ...(hasAddresses ? { count: 30 } : {}) });
    await torture.rest();
    const { findings, lines } = reportOf(torture);
    console.log([`${engine}, seed ${seed}`, ...lines, ...takeoverLines(torture, faults)].join('\n'));
    expect(findings).toEqual(NOTHING);
    expect(torture.records.acknowledged('publish').length).toBeGreaterThan(100);
    expect(torture.records.acknowledged('schedule').length).toBeGreaterThan(30);
    expect(torture.records.workflows.size).toBeGreaterThan(30);
  }, 150_000);
});

test('a host on a directory loses nothing and does nothing twice that is recorded, whatever its disk does', async () => {
  const seed = Date.now() % 1_000_000;
  await using torture = await Torture.start({ engine: 'embedded', seed, pace: 3, heapMb: 64 });
  const faults = new Faults(torture);
  const disk = canFailDisk() ? { full: 2, slow: 1, sync: 2 } : {};
  await faults.run({ kill: 6, stop: 1, pause: 1, clock: 2, ...disk }, 20);
  await untilMore(torture, { publish: 20, schedule: 5, start: 5, count: 5 });
  await torture.rest();
  const { findings, lines } = reportOf(torture);
  console.log([`embedded, seed ${seed}`, ...lines].join('\n'));
  expect(findings).toEqual(NOTHING);
  expect(torture.lives.length).toBeGreaterThanOrEqual(1 + 6 + 1);
  expect(torture.records.acknowledged('publish').length).toBeGreaterThan(20);
  expect(torture.records.acknowledged('schedule').length).toBeGreaterThan(5);
  expect(torture.records.workflows.size).toBeGreaterThan(5);
}, 180_000);

test('three hosts on a directory lose nothing and do nothing twice that is recorded, whichever of them holds it', async () => {
  const seed = Date.now() % 1_000_000;
  await using torture = await Torture.start({ engine: 'directory', seed, pace: 0.6 });
  const faults = new Faults(torture);
  await faults.end('kill', torture.holder);
  await faults.pause(PAUSE_MS);
  const disk = canFailDisk() ? { full: 1, slow: 1, sync: 1 } : {};
  await faults.run({ kill: 2, stop: 1, clock: 1, ...disk }, PAUSE_MS / 1_000);
  await torture.until(() => torture.hosts.every(({ isReady }) => isReady), 60_000, 'all hosts are up again');
  const { life, at } = await faults.end('kill', torture.holder);
  await torture.until(
    () => takeoverOf(torture.records, life, at)?.lastMs !== Number.POSITIVE_INFINITY,
    60_000,
    'taken over',
  );
  await untilMore(torture, { publish: 100, schedule: 30, start: 30, count: 30 });
  await torture.rest();
  const { findings, lines } = reportOf(torture);
  console.log([`directory, seed ${seed}`, ...lines, ...takeoverLines(torture, faults)].join('\n'));
  expect(findings).toEqual(NOTHING);
  expect(torture.lives.length).toBeGreaterThanOrEqual(3 + 5);
  expect(torture.records.acknowledged('publish').length).toBeGreaterThan(100);
}, 240_000);

test.runIf(hasRedis())(
  'what is lost is found: a message, a job, a workflow and a reminder that were deleted by hand',
  async () => {
    await using torture = await Torture.start({ engine: 'redis', seed: 1 });
    await torture.pass(1_500);
    await loseOnPurpose(torture);
    await torture.rest(3_000);
    const { findings } = reportOf(torture);
    const kinds = findings.lost.map((line) => (/^(main|dead) /.test(line) ? 'message' : line.slice(0, 2)));
    expect(new Set(kinds)).toEqual(new Set(['message', 'j-', 'w-', 're']));
  },
  60_000,
);
