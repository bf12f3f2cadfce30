import { instantOf, namePart, partsOf, rangeOf } from '../../../src/state/keys.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { openBeside } from './beside.ts';
import type { Torture } from './torture.ts';

/** The instant in the key of a delayed message or a reminder, before its last part. */
function dueAtOf(key: string): number {
  return instantOf(partsOf(key).at(-2) ?? '');
}

/**
 * What can be deleted now, by kind: a message that waits for its retry, a job, a workflow that waits for its event, a
 * reminder of an actor that comes once.
 * What was due before the hosts stood still may be in their hands.
 */
async function deletable(torture: Torture, store: StateStore, stoodStillAt: number) {
  const messages = await store.scan(rangeOf('pubsub', namePart('pubsub'), 'delayed'));
  const jobs = await store.scan(rangeOf('jobs', namePart('torture'), 'due'));
  const workflows = await store.scan(rangeOf('workflows', namePart('torture'), 'instance'));
  const reminders = await store.scan(rangeOf('actors', namePart('torture'), 'reminders', 'due'));
  const laterReminders = reminders.filter(({ key }) => dueAtOf(key) > stoodStillAt);
  return new Map([
    ['message', messages.findLast(({ key }) => dueAtOf(key) > stoodStillAt)?.key],
    ['job', jobs.findLast(({ key }) => key.includes('j-'))?.key],
    ['workflow', workflows.findLast(({ key }) => torture.isWaiting(partsOf(key).at(-1) ?? ''))?.key],
    ['reminder', laterReminders.findLast(({ key }) => key.includes('once-'))?.key],
  ]);
}

/**
 * Loses acknowledged work on purpose, which the checks must notice: deletes a message, a job, a workflow and a reminder,
 * while all hosts stand still for a moment.
 */
export async function loseOnPurpose(torture: Torture): Promise<void> {
  await using store = await openBeside(torture);
  const deleted = new Set<string>();
  while (deleted.size < 4) {
    for (const host of torture.hosts) host.pause();
    const stoodStillAt = Date.now();
    // What they have written is read meanwhile.
    await torture.pass(300);
    for (const [kind, key] of await deletable(torture, store, stoodStillAt)) {
      if (key === undefined || deleted.has(kind)) continue;
      await store.commit({ delete: [key] });
      deleted.add(kind);
    }
    for (const host of torture.hosts) host.resume();
    await torture.pass(200);
  }
}
