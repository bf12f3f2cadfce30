import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes, saidOf } from './harness.ts';

const KILLS = 12;

test(`redelivery loses and doubles nothing over ${KILLS} kills`, async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-redelivery-'));
  const lives = await runWithCrashes({
    program: new URL('./redelivery-child.mjs', import.meta.url),
    args: [path],
    kills: KILLS,
    killAfterMs: [50, 400],
    isEnough: (lives) => saidOf(lives, 'P') > KILLS * 2,
  });
  const lines = lives.flatMap((life) => life.lines.map((line) => line.split(' ')));
  const published = lines.filter(([what]) => what === 'P').map(([, id = '']) => id);
  const moved = lines.reduce((sum, [what, count]) => sum + (what === 'M' ? Number(count) : 0), 0);
  const left = lines.filter(([what]) => what === 'Q').map(([, , id = '']) => id);
  console.log(`${KILLS} kills: ${published.length} published, ${moved} moved, ${left.length} in the queues`);
  expect(published.length).toBeGreaterThan(KILLS * 2);
  expect(moved).toBeGreaterThan(published.length);
  expect(new Set(left).size).toBe(left.length);
  expect(published.filter((id) => !left.includes(id))).toEqual([]);
  // A kill may come between the record of a publish and its line: of each life at most one more is there.
  expect(left.length - published.length).toBeLessThan(lives.length);
  await rm(path, { recursive: true });
}, 180_000);
