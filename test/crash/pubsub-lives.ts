import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type CrashOptions, runWithCrashes, saidOf } from './harness.ts';

/**
 * Durable pub/sub in a process that is killed so many times: what it has acknowledged is processed in the end. With few
 * kills, each must come late enough for some messages: `killAfterMs` of {@link runWithCrashes}.
 */
export async function losesNothing(kills: number, killAfterMs: CrashOptions['killAfterMs'] = [20, 250]): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
  const lives = await runWithCrashes({
    program: new URL('./pubsub-child.mjs', import.meta.url),
    args: [path],
    kills,
    killAfterMs,
    isEnough: (lives) => saidOf(lives, 'P') > kills * 20,
  });
  const acknowledged = new Set<string>();
  const delivered = new Set<string>();
  const processed = new Set<string>();
  const settled = new Set<string>();
  let again = 0;
  for (const { lines } of lives) {
    for (const line of lines) {
      const [what, id = ''] = line.split(' ');
      if (what === 'P') acknowledged.add(id);
      if (what === 'D' && settled.has(id)) throw new Error(`${id} was settled before and came again`);
      if (what === 'D' && delivered.has(id)) again++;
      if (what === 'D') delivered.add(id);
      if (what === 'A') processed.add(id);
      if (what === 'S') settled.add(id);
    }
  }
  // A kill may come between the record of a settlement and its line, so what counts is what the application did.
  const lost = [...acknowledged].filter((id) => !processed.has(id));
  console.log(
    `${kills} kills: ${acknowledged.size} acknowledged, ${settled.size} settled, ${again} deliveries again (retries and in flight)`,
  );
  expect(acknowledged.size).toBeGreaterThan(kills * 20);
  expect(lost).toEqual([]);
  await rm(path, { recursive: true });
}
