import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes } from './harness.ts';

const KILLS = 6;

test(`workflows that are canceled clean up once, with their children, over ${KILLS} kills`, async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
  const lives = await runWithCrashes({
    program: new URL('./cancel-child.mjs', import.meta.url),
    args: [path],
    kills: KILLS,
    killAfterMs: [100, 900],
  });
  await rm(path, { recursive: true });
  const lines = lives.flatMap((life) => life.lines.map((line) => line.split(' ')));
  const of = (kind: string): string[][] => lines.filter(([first]) => first === kind).map(([, ...rest]) => rest);
  const ended = new Map(of('R').map(([id = '', ...rest]) => [id, rest.join(' ')]));

  const started = of('S').map(([id = '']) => id);
  expect(started.filter((id) => !ended.has(id))).toEqual([]);
  expect(of('C').length).toBeGreaterThan(KILLS);
  // Those that were canceled before they had reserved anything have nothing to undo.
  const wrong = [...ended].filter(([, how]) => how !== 'CANCELED 1 1' && how !== 'CANCELED 1 0');
  expect(wrong).toEqual([]);
  const undone = [...ended].filter(([, how]) => how === 'CANCELED 1 1');
  expect(undone.filter(([id]) => !id.endsWith('-room')).length).toBeGreaterThan(KILLS);
  expect(undone.filter(([id]) => id.endsWith('-room')).length).toBeGreaterThan(KILLS);
}, 120_000);
