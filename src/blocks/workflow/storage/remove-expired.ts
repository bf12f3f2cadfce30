import { isFinished } from '../model/instance.ts';
import { retentionOf, type WorkflowsSettings } from '../options.ts';
import type { InstanceStore } from './instance-store.ts';

/** The dependencies of {@link removeExpired}. */
export interface ExpiryDeps {
  readonly store: InstanceStore;
  readonly now: number;
  readonly deps: Pick<WorkflowsSettings, 'retention'>;
}

/** Removes an instance when its retention has ended. */
export async function removeExpired({ store, now, deps }: ExpiryDeps, id: string): Promise<void> {
  const stored = await store.read(id);
  if (stored === undefined || !isFinished(stored.record.status)) return;
  const { dueAt, updatedAt, status } = stored.record;
  // Due time 0: activities were still open at its end, and its code has changed. Nothing but its retention ends that.
  const expiresAt = dueAt === 0 ? updatedAt + (retentionOf(deps, status) ?? Infinity) : dueAt;
  if (expiresAt !== undefined && expiresAt <= now) await store.remove(stored);
}
