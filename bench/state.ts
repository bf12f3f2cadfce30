/*
 * Commits per second of the embedded store for 1, 100 and 1000 at a time, beside the same SQLite used directly
 * (one transaction per round, nothing of ours in between), and the latencies that checkpoints leave behind.
 * Run after a build: npx tsx bench/state.ts
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { databaseFileOf } from '../src/components/embedded/directory.ts';
import { loadSqlite, SqliteConnection } from '../src/components/embedded/driver.ts';
import { type EmbeddedStore, openEmbeddedStore } from '../src/components/embedded/embedded-store.ts';
import { MemoryStore } from '../src/components/memory/memory-store.ts';
import { counterPart, keyOf } from '../src/state/keys.ts';
import { systemClock } from '../src/util/clock.ts';
import { standardErrorLogger } from '../src/util/logger.ts';
import { createTable } from './support/sqlite-floor.ts';

const SIZES = [1, 100, 1000] as const;
const ROUNDS = 5;
const ROUND_MS = 500;
const value = new Uint8Array(300).fill(120);
const context = { clock: systemClock, logger: standardErrorLogger({ appId: 'bench' }) };

const median = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
const whole = (number: number): string => Math.round(number).toLocaleString('en');

/** Runs steps of `size` commits until the time is up; answers commits per second. */
async function rateOf(size: number, step: () => Promise<unknown> | undefined): Promise<number> {
  const startedAt = performance.now();
  let steps = 0;
  while (performance.now() - startedAt < ROUND_MS) {
    await step();
    steps++;
  }
  return (steps * size * 1000) / (performance.now() - startedAt);
}

let sequence = 0;
const nextKey = (): string => keyOf('queue', 'orders', counterPart(sequence++));

function storeStep(store: EmbeddedStore | MemoryStore, size: number): () => Promise<unknown> {
  return () => Promise.all(Array.from({ length: size }, () => store.commit({ put: [{ key: nextKey(), value }] })));
}

function openDirectly(connection: SqliteConnection): (size: number) => () => undefined {
  createTable(connection);
  const insert = connection.statement('INSERT INTO entry (key, version, value) VALUES (?, ?, ?)');
  return (size) => () => {
    connection.statement('BEGIN').run();
    for (let index = 0; index < size; index++) insert.run(Buffer.from(nextKey()), sequence, value);
    connection.statement('COMMIT').run();
    return undefined;
  };
}

async function compareRates(store: EmbeddedStore, memory: MemoryStore, direct: SqliteConnection): Promise<void> {
  const directStep = openDirectly(direct);
  console.log('at a time | embedded/s | SQLite directly/s | memory/s | embedded ÷ SQLite');
  for (const size of SIZES) {
    const rates: { embedded: number; sqlite: number; memory: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      rates.push({
        embedded: await rateOf(size, storeStep(store, size)),
        sqlite: await rateOf(size, directStep(size)),
        memory: await rateOf(size, storeStep(memory, size)),
      });
    }
    const columns = (['embedded', 'sqlite', 'memory'] as const).map((name) =>
      whole(median(rates.map((rate) => rate[name]))),
    );
    const ratio = median(rates.map((rate) => rate.embedded / rate.sqlite));
    console.log([size, ...columns, ratio.toFixed(2)].join(' | '));
  }
}

/** 64 callers, each waiting for its commit before the next: what 64 connections do. */
async function measureLatency(store: EmbeddedStore, title: string): Promise<void> {
  const latencies: number[] = [];
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    while (performance.now() - startedAt < 4 * ROUND_MS) {
      const before = performance.now();
      await store.commit({ put: [{ key: nextKey(), value }] });
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: 64 }, caller));
  loop.disable();
  latencies.sort((a, b) => a - b);
  const at = (share: number): string => (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(2);
  const rate = whole((latencies.length * 1000) / (performance.now() - startedAt));
  console.log(`${title}: ${rate} commits/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms`);
  console.log(
    `  event loop delay p99 ${(loop.percentile(99) / 1e6).toFixed(2)} ms (1 ms of it is the measurement's own)`,
  );
}

const root = mkdtempSync(join(tmpdir(), 'insidecar-bench-'));
try {
  const sqlite = await loadSqlite();
  const direct = new SqliteConnection(sqlite, databaseFileOf(root));
  await using store = await openEmbeddedStore(join(root, 'fast'), context);
  await using memory = new MemoryStore(context);
  await compareRates(store, memory, direct);
  await measureLatency(store, '64 callers');
  await using slow = await openEmbeddedStore(join(root, 'slow'), context, { syncDelayMs: 5 });
  await measureLatency(slow, '64 callers, each sync 5 ms slower');
  direct.close();
} finally {
  rmSync(root, { recursive: true, force: true });
}
