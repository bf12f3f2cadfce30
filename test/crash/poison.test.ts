import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes } from './harness.ts';

test('a message that kills the process becomes a dead letter, alone', async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-poison-'));
  const program = new URL('./poison-child.mjs', import.meta.url);
  // It kills four times, since the first time is not known; the fifth life ends by itself.
  const lives = await runWithCrashes({ program, args: [path], kills: 4, killAfterMs: [60_000, 60_000] });
  const poisoned = lives.map(({ lines }) => lines.filter((line) => line.startsWith('D poison')));
  expect(poisoned.map((lines) => lines.length)).toEqual([1, 1, 1, 1, 0]);
  const letters = lives.flatMap(({ lines }) => lines.filter((line) => line.startsWith('L ')));
  expect(letters).toEqual(['L poison the process ended during 3 deliveries in a row']);
  const settled = lives.flatMap(({ lines }) => lines.filter((line) => line.startsWith('S ')));
  expect(new Set(settled).size).toBe(19);
  expect(settled).toHaveLength(19);
  await rm(path, { recursive: true });
}, 120_000);

test.each(['job', 'activity'])(
  'what kills the process (%s) has failed once it has done so four times',
  async (kind) => {
    const path = await mkdtemp(join(tmpdir(), 'insidecar-poison-'));
    const program = new URL('./poison-work-child.mjs', import.meta.url);
    const lives = await runWithCrashes({ program, args: [path, kind], kills: 4, killAfterMs: [60_000, 60_000] });
    const said = lives.map(({ lines }) => lines.filter((line) => line !== 'ready'));
    expect(said).toEqual([['R 1'], ['R 1'], ['R 1'], ['R 1'], ['F the process ended 3 times in a row while it ran']]);
    await rm(path, { recursive: true });
  },
  120_000,
);
