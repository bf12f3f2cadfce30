import { isConflict } from '../../../state/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { LiveInstance } from '../engine/live-instance.ts';
import { isInUse } from '../engine/turn-commit.ts';
import type { IncomingEvent } from '../model/events.ts';
import { isFinished } from '../model/instance.ts';
import { notFound } from '../model/not-found.ts';
import type { Payload } from '../model/payload.ts';
import type { Stored } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { newRecord, planTurn, type TurnResult } from '../storage/turn-plan.ts';

/** Max tries when the instance or its owner changes at the same time. */
const MAX_TRIES = 100;

/** An instance to start. */
export interface Start {
  readonly instanceId: string;
  readonly name: string;
  readonly input: Payload;
  readonly startAt: number;
}

/** Starts an instance. Resolves when the start is stored, mostly together with the first turn. */
export async function startInstance(engine: Engine, start: Start): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      if (engine.owns(start.instanceId)) return await startHere(engine, start);
      return await startElsewhere(engine, start, tries > 1);
    } catch (error) {
      if (tries >= MAX_TRIES || !isConflict(error)) throw error;
    }
  }
}

function recordOf(engine: Engine, { instanceId, name, startAt }: Start): InstanceRecord {
  const { now } = engine;
  return newRecord({ instanceId, name, now, executionId: engine.host.newId(), startAt: Math.max(now, startAt) });
}

/** The start and the first turn are one commit. */
async function startHere(engine: Engine, start: Start): Promise<void> {
  const live = engine.pool.get(start.instanceId);
  if (live !== undefined) {
    if (!isFinished(live.record.status)) throw isInUse(start.instanceId);
    engine.pool.remove(live, new Error('the ID of the instance is used again'));
  }
  const instance = engine.pool.add(recordOf(engine, start));
  await posted(instance, { type: 'started', input: start.input });
}

/** Stores the instance and a message to its owner. Most IDs are new: the first try does not read before it writes. */
async function startElsewhere(engine: Engine, start: Start, looks: boolean): Promise<void> {
  const { store, host, now } = engine;
  const stored = looks ? await store.read(start.instanceId) : undefined;
  if (stored !== undefined && !isFinished(stored.record.status)) throw isInUse(start.instanceId);
  const record = recordOf(engine, start);
  const context = {
    store,
    newId: host.newId,
    isActive: () => false,
    owns: () => false,
    replaced: new Map(),
    occupied: new Set<string>(),
  };
  const { batch } = planTurn(stored, record, waiting(start, record.startAt > now ? record.startAt : 0, now), context);
  const message = messagePut(engine, start.instanceId, undefined);
  await store.commit({
    require: [precondition(engine, start.instanceId, stored), ...batch.require],
    put: [...batch.put, message],
    delete: batch.delete,
  });
  void engine.inbox.changed([message.key]);
}

function precondition({ store }: Engine, id: string, stored: Stored | undefined) {
  return { key: store.layout.instance(id), version: stored?.version ?? ('absent' as const) };
}

function waiting({ input }: Start, nextAt: number, now: number): TurnResult {
  return {
    now,
    events: [{ type: 'started', input }],
    outcome: undefined,
    status: 'PENDING',
    customStatus: undefined,
    activityCount: 0,
    nextAt,
    nextExecutionId: '',
    nextEvents: [],
    children: [],
    orphans: [],
    retentionMs: undefined,
    tellsParent: false,
  };
}

function messagePut({ store, host, now }: Engine, id: string, event: IncomingEvent | undefined) {
  return store.messagePut(store.messageKey(id, now, host.newId()), { event, executionId: '' });
}

/**
 * Sends an event to an instance. Resolves when the event is stored in its history or its inbox. An instance that has
 * finished ignores events.
 *
 * @throws SidecarError `ERR_INSTANCE_ID_NOT_FOUND` when there is no such instance.
 */
export async function sendEvent(engine: Engine, id: string, event: IncomingEvent): Promise<void> {
  for (let tries = 1; ; tries++) {
    const target = await find(engine, id, event);
    if (target === 'finished') return;
    if (target === 'elsewhere') return sendElsewhere(engine, id, event);
    try {
      return await posted(target, event);
    } catch (error) {
      if (tries >= MAX_TRIES || !(isConflict(error) || target.isGone) || engine.isStopping) throw error;
    }
  }
}

async function sendElsewhere(engine: Engine, id: string, event: IncomingEvent): Promise<void> {
  const message = messagePut(engine, id, event);
  await engine.store.commit({ put: [message] });
  // The store notifies the owner of the message, except if this host is the owner by now.
  void engine.inbox.changed([message.key]);
}

/** The live instance, or the reason why there is none. */
async function find(
  engine: Engine,
  id: string,
  event: IncomingEvent,
): Promise<LiveInstance | 'finished' | 'elsewhere'> {
  if (engine.owns(id)) {
    const found = await engine.pool.load(id);
    if (typeof found === 'object') return isFinished(found.record.status) ? 'finished' : found;
    if (found === 'missing') throw notFound(id);
    if (found === 'finished') return found;
    // Without its code, it accepts only its termination.
    return (event.type === 'terminated' ? await engine.pool.loadWithoutCode(id) : undefined) ?? 'elsewhere';
  }
  const stored = await engine.store.read(id);
  if (stored === undefined) throw notFound(id);
  return isFinished(stored.record.status) ? 'finished' : 'elsewhere';
}

/** Resolves when the event is in the history. */
function posted(instance: LiveInstance, event: IncomingEvent): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    instance.post({ event, executionId: '', done });
  });
}
