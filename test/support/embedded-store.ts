import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type EmbeddedInternals,
  type EmbeddedStore,
  openEmbeddedStore,
} from '../../src/components/embedded/embedded-store.ts';
import { systemClock } from '../../src/util/clock.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** What a store is opened with. */
export const context = { clock: systemClock, logger: quiet };

/** A directory that is gone after the test; the store's own is made below it. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'insidecar-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Opens the store of a directory; closed after the test when the test has not done it. */
export async function openStore(path: string, internals?: EmbeddedInternals): Promise<EmbeddedStore> {
  const store = await openEmbeddedStore(path, context, internals);
  onTestFinished(() => store.close());
  return store;
}

/** A put of some bytes. */
export function put(key: string, bytes = 1): { key: string; value: Uint8Array } {
  return { key, value: new Uint8Array(bytes).fill(120) };
}
