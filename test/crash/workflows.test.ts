import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes, saidOf } from './harness.ts';

const KILLS = 12;
/** Two rounds of 1 + 2 + 3, and 10 of the child. */
const SUM = '32';
const ACTIVITIES_OF_A_FLOW = 2 * 3;

test(`workflows lose nothing over ${KILLS} kills, and each activity has one result`, async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
  const lives = await runWithCrashes({
    program: new URL('./workflows-child.mjs', import.meta.url),
    args: [path],
    kills: KILLS,
    killAfterMs: [100, 900],
    isEnough: (lives) => saidOf(lives, 'S') > KILLS * 20,
  });
  await rm(path, { recursive: true });
  const lines = lives.flatMap((life) => life.lines.map((line) => line.split(' ')));
  const of = (kind: string): string[][] => lines.filter(([first]) => first === kind).map(([, ...rest]) => rest);
  const started = of('S').map(([id = '']) => id);
  const ended = new Map(of('R').map(([id = '', ...rest]) => [id, rest]));

  expect(started.length).toBeGreaterThan(KILLS * 20);
  expect(started.filter((id) => !ended.has(id))).toEqual([]);
  const flows = [...ended].filter(([id]) => id.split('-').length === 3);
  expect(flows.filter(([, how]) => how.join(' ') !== `COMPLETED ${SUM} 1`)).toEqual([]);
  const children = [...ended].filter(([id]) => id.split('-').length === 4);
  expect(children.filter(([, how]) => how.join(' ') !== 'COMPLETED 10 1')).toEqual([]);

  // Both rounds of a flow have a child of the same ID.
  expect(children.length).toBe(flows.length);

  // Every activity has run at least once, and some more than once, or nothing was put to the test.
  const runs = of('A').filter(([id = '']) => id.split('-').length === 3).length;
  const once = flows.length * ACTIVITIES_OF_A_FLOW;
  expect(runs).toBeGreaterThan(once);
  expect(runs).toBeLessThan(once * 2);
  console.log(`${flows.length} workflows with ${once} activities, of which ${runs - once} were run again`);
}, 240_000);
