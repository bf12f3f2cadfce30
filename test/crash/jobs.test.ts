import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes, saidOf } from './harness.ts';

const KILLS = 12;
const INTERVAL_MS = 25;

test(`jobs lose nothing over ${KILLS} kills`, async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
  const lives = await runWithCrashes({
    program: new URL('./jobs-child.mjs', import.meta.url),
    args: [path],
    kills: KILLS,
    killAfterMs: [20, 250],
    isEnough: (lives) => saidOf(lives, 'P') > KILLS * 20,
  });
  const acknowledged = new Set<string>();
  const begun = new Set<string>();
  const processed = new Set<string>();
  const processedJobs = new Set<string>();
  const recorded = new Set<string>();
  let again = 0;
  for (const { lines } of lives) {
    for (const line of lines) {
      const [what, name = '', tick] = line.split(' ');
      const run = `${name} ${tick}`;
      if (what === 'P') acknowledged.add(name);
      if (what === 'D' && recorded.has(run)) throw new Error(`${run} was recorded as done and came again`);
      if (what === 'D' && begun.has(run)) again++;
      if (what === 'D') begun.add(run);
      if (what === 'A') processed.add(run);
      if (what === 'A') processedJobs.add(name);
      if (what === 'S') recorded.add(run);
    }
  }
  const lost = [...acknowledged].filter((name) => !processedJobs.has(name));
  const skipped = ['tick-a', 'tick-b'].flatMap((name) => gapsOf(name, processed));
  console.log(
    `${KILLS} kills: ${acknowledged.size} acknowledged, ${recorded.size} runs recorded, ${again} runs again (retries and in flight)`,
  );
  expect(acknowledged.size).toBeGreaterThan(KILLS * 20);
  expect(lost).toEqual([]);
  expect(skipped).toEqual([]);
  await rm(path, { recursive: true });
}, 180_000);

/** Ticks between the first and the last that were never processed. */
function gapsOf(name: string, processed: ReadonlySet<string>): string[] {
  const ticks = [...processed]
    .filter((run) => run.startsWith(`${name} `))
    .map((run) => Number(run.split(' ')[1]))
    .sort((a, b) => a - b);
  expect(ticks.length).toBeGreaterThan(KILLS);
  return ticks.flatMap((tick, index) => {
    const before = ticks[index - 1];
    return before === undefined || tick - before === INTERVAL_MS ? [] : [`${name}: ${tick - before} ms before ${tick}`];
  });
}
