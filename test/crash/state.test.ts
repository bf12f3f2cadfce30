import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runWithCrashes, saidOf } from './harness.ts';

const KILLS = 12;

test.each([
  { where: 'in the same commit', directories: ['state'] },
  { where: 'relayed from another store', directories: ['state', 'orders'] },
])(
  `transactions and their events, $where, lose nothing over ${KILLS} kills`,
  async ({ directories }) => {
    const path = await mkdtemp(join(tmpdir(), 'insidecar-crash-'));
    const lives = await runWithCrashes({
      program: new URL('./state-child.mjs', import.meta.url),
      args: directories.map((name) => join(path, name)),
      kills: KILLS,
      killAfterMs: [20, 250],
      isEnough: (lives) => saidOf(lives, 'C') > KILLS * 5,
    });
    const acknowledged = new Set<string>();
    /** The IDs of the events of each order. */
    const events = new Map<string, Set<string>>();
    const values = new Map<string, string>();
    let deliveries = 0;
    for (const { lines } of lives) {
      for (const line of lines) {
        const [what, name = '', id = ''] = line.split(' ');
        if (what === 'C') acknowledged.add(name);
        if (what === 'V') values.set(name, id);
        if (what !== 'E') continue;
        deliveries++;
        events.set(name, (events.get(name) ?? new Set()).add(id));
      }
    }
    const orders = [...values.keys()].filter((key) => key.startsWith('order-')).map((key) => key.slice(6));
    console.log(`${KILLS} kills: ${acknowledged.size} acknowledged, ${orders.length} stored, ${deliveries} deliveries`);
    expect(acknowledged.size).toBeGreaterThan(KILLS * 5);
    expect([...acknowledged].filter((n) => values.get(`order-${n}`) !== n)).toEqual([]);
    // Every stored order has its two events, each with its own ID, however often it was published; and no other has any.
    expect(orders.filter((n) => events.get(n)?.size !== 2)).toEqual([]);
    expect([...events.keys()].filter((n) => values.get(`order-${n}`) === undefined)).toEqual([]);
    // All or nothing: the last order of a writer is stored.
    const lasts = [...values].filter(([key]) => key.startsWith('last-'));
    expect(lasts.filter(([, n]) => values.get(`order-${n}`) !== n)).toEqual([]);
    await rm(path, { recursive: true });
  },
  180_000,
);
