import type { Trace } from '../../../components/pubsub.ts';
import { isConflictError } from '../../../state/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { InstanceExists } from '../engine/turn-commit.ts';
import type { IfInstanceExists } from '../model/definition.ts';
import { isFinished } from '../model/instance.ts';
import type { Payload } from '../model/payload.ts';
import { receiptChange, type Stored } from '../storage/instance-store.ts';
import { newRecord } from '../storage/new-record.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { planTurn, type TurnResult } from '../storage/turn-plan.ts';
import { find, isDone, MAX_TRIES, messagePut, posted } from './send.ts';
import type { InstanceWork } from './work.ts';

/** An instance to start. */
export interface Start {
  readonly instanceId: string;
  readonly name: string;
  readonly input: Payload;
  readonly startAt: number;
  readonly ifExists: IfInstanceExists;
  /** The trace of its start. */
  readonly trace?: Trace | undefined;
}

/** Starts an instance. Resolves when the start is stored, mostly together with the first turn. */
export async function startInstance(engine: Engine, start: Start, receipt?: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      // At rest there is no code: a first turn would fail.
      if (engine.owns(start.instanceId) && !engine.isAtRest) return await startHere(engine, start, receipt);
      return await startElsewhere(engine, start, { looks: tries > 1, receipt });
    } catch (error) {
      if (isKept(start, error) || (await isDone(engine, receipt))) return;
      if (tries >= MAX_TRIES || !isConflictError(error)) throw error;
    }
  }
}

/**
 * Does the work that another host asks for, if the instance is one of this host; else answers false, and nothing is
 * done. Work that is done leaves its receipt.
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
      const start = { ...work, instanceId: id };
      await startHere(engine, start, receipt).catch((error: unknown) => {
        if (!isKept(start, error)) throw error;
      });
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
  const executionId = engine.deps.newId();
  return newRecord({ instanceId, name, now, executionId, startAt: Math.max(now, startAt), trace });
}

/** The start and the first turn are one commit. */
async function startHere(engine: Engine, start: Start, receipt?: string): Promise<void> {
  // Messages that lie there are for an earlier instance with this ID, which was ended while its code was missing.
  if (engine.inbox.isBehind(start.instanceId)) await engine.inbox.catchUp(start.instanceId);
  const live = engine.pool.get(start.instanceId);
  if (live !== undefined) {
    // It may not be stored yet.
    if (start.ifExists === 'keep') return posted(live, undefined);
    checkMayReplace(start, live.record);
    engine.pool.remove(live, new Error('the ID of the instance is used again'));
  }
  const instance = engine.pool.add(recordOf(engine, start));
  return posted(instance, { type: 'started', input: start.input }, receipt, start.ifExists !== 'replace');
}

/** Whether the start is done because another instance has the ID. */
function isKept({ ifExists }: Start, error: unknown): boolean {
  return ifExists === 'keep' && error instanceof InstanceExists;
}

function checkMayReplace({ instanceId, ifExists }: Start, { status }: InstanceRecord): void {
  if (ifExists !== 'replace' || !isFinished(status)) throw new InstanceExists(instanceId, status);
}

/** Writes the instance, and a message by which the owner of its shard finds it. Most IDs are new: the first try reads nothing. */
async function startElsewhere(
  engine: Engine,
  start: Start,
  { looks, receipt }: { readonly looks: boolean; readonly receipt: string | undefined },
): Promise<void> {
  const { store, deps, now } = engine;
  const stored = looks ? await store.read(start.instanceId) : undefined;
  if (stored !== undefined) checkMayReplace(start, stored.record);
  const record = recordOf(engine, start);
  const context = {
    store,
    newId: deps.newId,
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
  if (!engine.isAtRest) void engine.inbox.changed([message.key]);
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
    canceled: [],
    retentionMs: undefined,
    tellsParent: false,
  };
}
