import { isConflictError } from '../../../state/errors.ts';
import type { Put } from '../../../state/store.ts';
import type { Engine } from '../engine/engine.ts';
import type { Absent } from '../engine/instance-pool.ts';
import type { LiveInstance } from '../engine/live-instance.ts';
import type { IncomingEvent } from '../model/events.ts';
import { isFinished } from '../model/instance.ts';
import { notFound } from '../model/not-found.ts';
import { descendantsOf } from '../storage/descendants.ts';
import { receiptChange } from '../storage/instance-store.ts';
import { ORPHAN_ENDS, ORPHANED } from '../storage/turn-plan.ts';
import type { OutsideEvent } from './work.ts';

/** Max tries when the instance or its owner changes at the same time. */
export const MAX_TRIES = 100;

/** The live instance, or the reason why there is none. */
type SendTarget = LiveInstance | 'finished' | 'elsewhere';

/** An event to send, and the callbacks of its caller. */
export interface Sending {
  readonly event: OutsideEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A message in the inbox of an instance. */
export function messagePut({ store, deps, now }: Engine, id: string, event: IncomingEvent | undefined): Put {
  return store.messagePut(store.messageKey(id, now, deps.newId()), { event, executionId: '' });
}

/** Another host has done it meanwhile. */
export async function isDone({ store }: Engine, receipt: string | undefined): Promise<boolean> {
  return receipt !== undefined && (await store.message(receipt)) !== undefined;
}

/**
 * Sends an event to an instance. Resolves when the event is stored in its history or its inbox. An instance that has
 * finished ignores events. Answers the key of the event while it waits in the inbox.
 *
 * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND` when there is no such instance.
 */
export async function sendEvent(
  engine: Engine,
  id: string,
  event: IncomingEvent,
  receipt?: string,
): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    let target: SendTarget | undefined;
    try {
      target = await find(engine, id, event);
      if (target === 'finished') return undefined;
      if (target === 'elsewhere') return await sendElsewhere(engine, id, [event], receipt);
      await posted(target, event, receipt);
      return undefined;
    } catch (error) {
      if (await isDone(engine, receipt)) return undefined;
      if (tries >= MAX_TRIES || !isGone(target, error) || engine.isStopping) throw error;
    }
  }
}

/**
 * Sends an event to an instance that this host runs. Answers false if it does not, or no longer did when the event was
 * to be stored.
 *
 * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND` when there is no such instance.
 */
export async function sendHere(engine: Engine, id: string, event: IncomingEvent): Promise<boolean> {
  let target: SendTarget | undefined;
  try {
    target = await find(engine, id, event);
    if (target === 'elsewhere') return false;
    if (target !== 'finished') await posted(target, event);
    return true;
  } catch (error) {
    if (!isGone(target, error) || engine.isStopping) throw error;
    return false;
  }
}

/**
 * Sends events to an instance in their order, and tells each caller. Answers the key of the last one that waits in the
 * inbox. Never rejects.
 */
export async function sendTogether(
  engine: Engine,
  id: string,
  sendings: readonly Sending[],
): Promise<string | undefined> {
  const left = engine.owns(id) ? await sendAllHere(engine, id, sendings) : sendings;
  if (left.length === 0) return undefined;
  try {
    const last = await sendAllElsewhere(engine, id, left);
    for (const { resolve } of left) resolve();
    return last;
  } catch (error) {
    for (const { reject } of left) reject(error);
    return undefined;
  }
}

/** Answers those that this host could not send to a live instance: they have not been stored. */
async function sendAllHere(engine: Engine, id: string, sendings: readonly Sending[]): Promise<readonly Sending[]> {
  const isSent = await Promise.all(
    sendings.map(async ({ event, resolve, reject }) => {
      try {
        if (!(await sendHere(engine, id, event))) return false;
        resolve();
      } catch (error) {
        reject(error);
      }
      return true;
    }),
  );
  return sendings.filter((_sending, index) => isSent[index] === false);
}

/** One commit for all: what is tried again cannot come after a later one. */
async function sendAllElsewhere(engine: Engine, id: string, sendings: readonly Sending[]): Promise<string | undefined> {
  if ((await findStored(engine, id)) === 'finished') return undefined;
  const events = sendings.map(({ event }) => event);
  return sendElsewhere(engine, id, events);
}

/** Answers the key of the last message. */
async function sendElsewhere(
  engine: Engine,
  id: string,
  events: readonly IncomingEvent[],
  receipt?: string,
): Promise<string | undefined> {
  const { require, put } = receiptChange(receipt);
  const messages = events.map((event) => messagePut(engine, id, event));
  await engine.store.commit({ require, put: [...messages, ...put] });
  const keys = messages.map(({ key }) => key);
  if (events.some(({ type }) => type === 'terminated')) keys.unshift(...(await endDescendants(engine, id)));
  // Its owner hears of them. Meanwhile that may be this host.
  void engine.inbox.changed(keys);
  return keys.at(-1);
}

/**
 * The host of a descendant may go on with it before the instance has had its turn: it finds its own end in the store.
 * Stored after that of the instance, which gets no message from a descendant that ends in this way.
 */
async function endDescendants(engine: Engine, id: string): Promise<readonly string[]> {
  const { store, deps, now } = engine;
  const stored = await store.readRecord(id);
  if (stored?.record.hasChildren !== true) return [];
  const put = (await descendantsOf(store, id)).map(({ instanceId, parentId }) => {
    const message = { event: ORPHAN_ENDS, executionId: ORPHANED, parentId };
    return store.messagePut(store.messageKey(instanceId, now, deps.newId()), message);
  });
  if (put.length > 0) await store.commit({ put });
  return put.map(({ key }) => key);
}

/** Finds the live instance. */
export async function find(engine: Engine, id: string, event: IncomingEvent): Promise<SendTarget> {
  if (engine.owns(id)) {
    const found = await loadHere(engine, id, event);
    if (found === 'behind') return 'elsewhere';
    if (typeof found === 'object') return isFinished(found.record.status) ? 'finished' : found;
    if (found === 'missing') throw notFound(id);
    return found === 'finished' ? found : 'elsewhere';
  }
  return findStored(engine, id);
}

async function findStored({ store }: Engine, id: string): Promise<'finished' | 'elsewhere'> {
  const stored = await store.read(id);
  if (stored === undefined) throw notFound(id);
  return isFinished(stored.record.status) ? 'finished' : 'elsewhere';
}

/** Loads an instance of this host. It gets the events that are stored for it before another one. */
async function loadHere(
  { pool, inbox }: Engine,
  id: string,
  event: IncomingEvent,
): Promise<LiveInstance | Absent | 'behind'> {
  const found = await pool.loadFor(id, event);
  if (typeof found !== 'object' || event.type !== 'eventRaised' || !inbox.holdsBack(id)) return found;
  // Earlier messages could not be delivered. Deliver them first: this event must not overtake them.
  return (await inbox.admit(id)) ? pool.loadFor(id, event) : 'behind';
}

/** Whether the instance has left this host, so that the event is not stored. */
function isGone(target: SendTarget | undefined, error: unknown): boolean {
  return typeof target === 'object' && (isConflictError(error) || target.isGone);
}

/** Resolves when the event is in the history; without one, when all that came before it is. */
export function posted(
  instance: LiveInstance,
  event: IncomingEvent | undefined,
  receipt?: string,
  mustBeFirst = false,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    instance.post({ event, executionId: '', receipt, mustBeFirst, done });
  });
}
