import { isFinished } from '../model/instance.ts';
import type { InstanceStore } from './instance-store.ts';

/** What the removal of expired instances depends on. */
export interface ExpiryDeps {
  readonly store: InstanceStore;
  readonly now: number;
}

/** Removes an instance whose retention is over. */
export async function removeExpired({ store, now }: ExpiryDeps, id: string): Promise<void> {
  const stored = await store.read(id);
  if (stored === undefined || !isFinished(stored.record.status)) return;
  const { dueAt } = stored.record;
  if (dueAt !== undefined && dueAt <= now) await store.remove(stored);
}
