import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Life, runWithCrashes, saidOf } from './harness.ts';

const KILLS = 12;

/** The states that a job may have, as the lines tell one after another. */
class JobStates {
  readonly #possible = new Map<string, Set<string>>();
  readonly problems: string[] = [];

  next({ lines }: Life): void {
    for (const line of lines) {
      const [what, job = '', state = ''] = line.split(' ');
      const possible = this.#possible.get(job) ?? new Set(['active']);
      if (what === 'F' && !possible.has(state))
        this.problems.push(`${job} was ${[...possible]}, is ${state} after a kill`);
      // A run that has begun before the pause ends during it: its line may come before that of the pause, never after.
      if (what === 'R' && !possible.has('active')) this.problems.push(`${job} runs while it is paused`);
      if (what === 'F' || what === 'D') this.#possible.set(job, new Set([state]));
      if (what === 'I') this.#possible.set(job, new Set([...possible, state]));
    }
  }
}

test(`pauses of jobs and reruns of workflows hold over ${KILLS} kills`, async () => {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-operations-'));
  const lives = await runWithCrashes({
    program: new URL('./operations-child.mjs', import.meta.url),
    args: [path],
    kills: KILLS,
    killAfterMs: [100, 600],
    isEnough: (lives) => Math.min(saidOf(lives, 'D'), saidOf(lives, 'R')) > KILLS * 3 && saidOf(lives, 'N') > KILLS * 2,
  });
  const states = new JobStates();
  for (const life of lives) states.next(life);
  const lines = lives.flatMap((life) => life.lines.map((line) => line.split(' ')));
  const told = (what: string): string[][] => lines.filter(([first]) => first === what);
  const acknowledged = told('N').map(([, id = '']) => id);
  const ended = new Map(told('E').map(([, id = '', status = '']) => [id, status]));
  console.log(
    `${KILLS} kills: ${told('D').length} pauses and resumptions, ${told('R').length} runs, ${acknowledged.length} reruns`,
  );
  expect(states.problems).toEqual([]);
  expect(told('D').length).toBeGreaterThan(KILLS * 3);
  expect(told('R').length).toBeGreaterThan(KILLS * 3);
  expect(acknowledged.length).toBeGreaterThan(KILLS * 2);
  expect(acknowledged.filter((id) => ended.get(id) !== 'COMPLETED')).toEqual([]);
  expect([...ended.values()].filter((status) => status !== 'COMPLETED')).toEqual([]);
  // What came before the failure is taken over, and is not done again.
  expect(told('A').filter(([, id = '', step]) => id.startsWith('again') && step === '1')).toEqual([]);
  await rm(path, { recursive: true });
}, 180_000);
