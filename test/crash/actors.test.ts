import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes, saidOf } from './harness.ts';

const KILLS = 8;

test(`turns of actors are stored whole or not at all over ${KILLS} kills, no acknowledged one is lost, and each tick is stored once`, async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
  const lives = await runWithCrashes({
    program: new URL('./actors-child.mjs', import.meta.url),
    args: [path],
    kills: KILLS,
    killAfterMs: [20, 250],
    isEnough: (lives) => saidOf(lives, 'A') > KILLS * 20,
  });
  const counts = new Map<string, number>();
  for (const { lines } of lives)
    for (const line of lines) {
      const [what, id = '', text] = line.split(' ');
      const count = Number(text);
      const before = counts.get(id) ?? 0;
      // The turn in flight at the kill may have been stored, and its answer lost.
      if (what === 'F') expect([before, before + 1]).toContain(count);
      if (what === 'A') expect(count).toBe(before + 1);
      if (what === 'F' || what === 'A') counts.set(id, count);
    }
  expect(counts.size).toBe(8);
  expect(saidOf(lives, 'A')).toBeGreaterThan(KILLS * 20);
  await rm(path, { recursive: true });
}, 180_000);
