import { isFinished } from '../model/instance.ts';
import type { InstanceStore } from './instance-store.ts';

/** The dependencies of {@link removeExpired}. */
export interface ExpiryDeps {
  readonly store: InstanceStore;
  readonly now: number;
}

/** Removes an instance when its retention has ended. */
export async function removeExpired({ store, now }: ExpiryDeps, id: string): Promise<void> {
  const stored = await store.read(id);
  if (stored === undefined || !isFinished(stored.record.status)) return;
  const { dueAt } = stored.record;
  if (dueAt !== undefined && dueAt !== 0 && dueAt <= now) await store.remove(stored);
}
