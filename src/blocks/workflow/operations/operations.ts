import type { Trace } from '../../../components/pubsub.ts';
import { isConflict } from '../../../state/errors.ts';
import type { Put } from '../../../state/store.ts';
import type { Engine } from '../engine/engine.ts';
import type { Absent } from '../engine/instance-pool.ts';
import type { LiveInstance } from '../engine/live-instance.ts';
import { isInUse } from '../engine/turn-commit.ts';
import type { IncomingEvent } from '../model/events.ts';
import { isFinished } from '../model/instance.ts';
import { notFound } from '../model/not-found.ts';
import type { Payload } from '../model/payload.ts';
import { receiptChange, type Stored } from '../storage/instance-store.ts';
import { newRecord } from '../storage/new-record.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { planTurn, type TurnResult } from '../storage/turn-plan.ts';
import type { InstanceWork } from './work.ts';

/** Max tries when the instance or its owner changes at the same time. */
const MAX_TRIES = 100;

/** An instance to start. */
export interface Start {
  readonly instanceId: string;
  readonly name: string;
  readonly input: Payload;
  readonly startAt: number;
  /** The trace of its start. */
  readonly trace?: Trace | undefined;
}

/** Starts an instance. Resolves when the start is stored, mostly together with the first turn. */
export async function startInstance(engine: Engine, start: Start, receipt?: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      if (engine.owns(start.instanceId)) return await startHere(engine, start, receipt);
      return await startElsewhere(engine, start, { looks: tries > 1, receipt });
    } catch (error) {
      if (await isDone(engine, receipt)) return;
      if (tries >= MAX_TRIES || !isConflict(error)) throw error;
    }
  }
}

/** Another host has done it meanwhile. */
async function isDone({ store }: Engine, receipt: string | undefined): Promise<boolean> {
  return receipt !== undefined && (await store.message(receipt)) !== undefined;
}

/**
 * Does what another host asks for, if the instance is one of this host; else answers false, and nothing is done. What
 * has been done leaves its receipt.
 */
export async function doHere(
  engine: Engine,
  id: string,
  { work, receipt }: { readonly work: InstanceWork; readonly receipt: string },
): Promise<boolean> {
  if (!engine.owns(id)) return false;
  try {
    if (work.type === 'start') {
      // It waits for its code, as those do that are started through the store.
      if (!engine.pool.hasCode(work.name)) return false;
      await startHere(engine, { ...work, instanceId: id }, receipt);
    } else {
      const target = await find(engine, id, work);
      if (target === 'elsewhere') return false;
      if (target !== 'finished') await posted(target, work, receipt);
    }
  } catch (error) {
    if (!(await isDone(engine, receipt))) throw error;
  }
  return true;
}

function recordOf(engine: Engine, { instanceId, name, startAt, trace }: Start): InstanceRecord {
  const { now } = engine;
  const executionId = engine.host.newId();
  return newRecord({ instanceId, name, now, executionId, startAt: Math.max(now, startAt), trace });
}

/** The start and the first turn are one commit. */
function startHere(engine: Engine, start: Start, receipt?: string): Promise<void> {
  const live = engine.pool.get(start.instanceId);
  if (live !== undefined) {
    if (!isFinished(live.record.status)) throw isInUse(start.instanceId);
    engine.pool.remove(live, new Error('the ID of the instance is used again'));
  }
  const instance = engine.pool.add(recordOf(engine, start));
  return posted(instance, { type: 'started', input: start.input }, receipt);
}

/** The owner of the shard finds it in the store, and is told where. Most IDs are new: the first try does not look. */
async function startElsewhere(
  engine: Engine,
  start: Start,
  { looks, receipt }: { readonly looks: boolean; readonly receipt: string | undefined },
): Promise<void> {
  const { store, host, now } = engine;
  const stored = looks ? await store.read(start.instanceId) : undefined;
  if (stored !== undefined && !isFinished(stored.record.status)) throw isInUse(start.instanceId);
  const record = recordOf(engine, start);
  const context = {
    store,
    newId: host.newId,
    instances: { isActive: () => false, owns: () => false },
    replaced: new Map(),
    occupied: new Set<string>(),
  };
  const { batch } = planTurn(stored, record, waiting(start, record.startAt > now ? record.startAt : 0, now), context);
  const message = messagePut(engine, start.instanceId, undefined);
  const { require, put } = receiptChange(receipt);
  await store.commit({
    require: [precondition(engine, start.instanceId, stored), ...batch.require, ...require],
    put: [...batch.put, message, ...put],
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

/** A message in the inbox of an instance. */
export function messagePut({ store, host, now }: Engine, id: string, event: IncomingEvent | undefined): Put {
  return store.messagePut(store.messageKey(id, now, host.newId()), { event, executionId: '' });
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
    let target: Awaited<ReturnType<typeof find>> | undefined;
    try {
      target = await find(engine, id, event);
      if (target === 'finished') return undefined;
      if (target === 'elsewhere') return await sendElsewhere(engine, messagePut(engine, id, event), receipt);
      await posted(target, event, receipt);
      return undefined;
    } catch (error) {
      if (await isDone(engine, receipt)) return undefined;
      const isGone = typeof target === 'object' && (isConflict(error) || target.isGone);
      if (tries >= MAX_TRIES || !isGone || engine.isStopping) throw error;
    }
  }
}

async function sendElsewhere(engine: Engine, message: Put, receipt: string | undefined): Promise<string> {
  const { require, put } = receiptChange(receipt);
  await engine.store.commit({ require, put: [message, ...put] });
  // Its owner hears of it. Meanwhile that may be this host.
  void engine.inbox.changed([message.key]);
  return message.key;
}

/** The live instance, or the reason why there is none. */
async function find(
  engine: Engine,
  id: string,
  event: IncomingEvent,
): Promise<LiveInstance | 'finished' | 'elsewhere'> {
  if (engine.owns(id)) {
    const found = await loadHere(engine, id, event);
    if (typeof found === 'object') return isFinished(found.record.status) ? 'finished' : found;
    if (found === 'missing') throw notFound(id);
    return found === 'finished' ? found : 'elsewhere';
  }
  const stored = await engine.store.read(id);
  if (stored === undefined) throw notFound(id);
  return isFinished(stored.record.status) ? 'finished' : 'elsewhere';
}

/** Loads an instance of this host. It gets the events that are stored for it before another one. */
async function loadHere({ pool, inbox }: Engine, id: string, event: IncomingEvent): Promise<LiveInstance | Absent> {
  const found = await pool.loadFor(id, event);
  if (typeof found !== 'object' || event.type !== 'eventRaised' || !inbox.isBehind(id)) return found;
  await inbox.catchUp(id);
  return pool.loadFor(id, event);
}

/** Resolves when the event is in the history. */
function posted(instance: LiveInstance, event: IncomingEvent, receipt?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    instance.post({ event, executionId: '', receipt, done });
  });
}
