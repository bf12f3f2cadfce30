import { messageOf, SidecarError } from '../../../errors.ts';
import type { Change } from '../../../kernel/commit-batcher.ts';
import { isConflictError, isStateError } from '../../../state/errors.ts';
import { MAX_BATCH_BYTES, type Precondition } from '../../../state/store.ts';
import { type Backoff, backoffDelayMs } from '../../../util/backoff.ts';
import { sleep } from '../../../util/clock.ts';
import { TOO_LARGE } from '../model/failure.ts';
import { isFinished, type WorkflowStatus } from '../model/instance.ts';
import { retentionOf } from '../options.ts';
import { receiptChange, type Stored } from '../storage/instance-store.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { planTurn, type TurnPlan, type TurnResult } from '../storage/turn-plan.ts';
import type { EngineServices } from './engine-services.ts';
import type { LiveInstance } from './live-instance.ts';
import type { IntakeMessage } from './turn-intake.ts';

/** A turn to commit. */
export interface TurnToWrite {
  readonly instance: LiveInstance;
  readonly record: InstanceRecord;
  readonly stored: Stored | undefined;
  readonly end: TurnResult;
  readonly messages: readonly IntakeMessage[];
}

/** A committed turn. */
export interface Written {
  readonly plan: TurnPlan;
  readonly version: number;
  /** The version of the record, which not every turn writes. */
  readonly recordVersion: number;
}

/** Backoff after a failed commit. */
const BACKOFF: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, factor: 2, jitter: 0.2 };
const MAX_TRIES = 1_000;
/** Leaves room for keys, which also count. */
const MAX_VALUES_BYTES = MAX_BATCH_BYTES * 0.75;

/**
 * Commits a turn. Replans it when the IDs of its children are taken. Retries a failing store, unless the instance is
 * new or the sidecar is stopping.
 *
 * @throws ConflictError when this host no longer owns the instance.
 */
export async function commitTurn(services: EngineServices, turn: TurnToWrite): Promise<Written> {
  const found: Obstacles = {
    stored: turn.stored,
    replaced: NONE_REPLACED,
    occupied: NONE_OCCUPIED,
    refusal: undefined,
  };
  const isNew = turn.stored === undefined;
  for (let tries = 1; ; tries++) {
    const plan = planOf(services, turn, found);
    try {
      const batch = batchOf(services, turn, plan, found.stored);
      const version = await services.store.write(batch);
      return { plan, version, recordVersion: plan.isRecordWritten ? version : (found.stored?.version ?? version) };
    } catch (error) {
      if (tries >= MAX_TRIES) throw error;
      if (isRefused(error)) found.refusal ??= `the turn cannot be written: ${messageOf(error)}`;
      else if (isConflictError(error)) await noteObstacle(error.key, { services, turn, found, isNew, error });
      else if (isNew || services.isStopping) throw error;
      else {
        await pause(services, turn, error, tries);
        // The instance left memory meanwhile: its next read must find its messages, not the result of this turn.
        if (turn.instance.isGone) throw error;
      }
    }
  }
}

const NONE_REPLACED: ReadonlyMap<string, Stored> = new Map();
const NONE_OCCUPIED: ReadonlySet<string> = new Set();

/** Obstacles that a commit found in the store; usually none. */
interface Obstacles {
  /** The stored record under the instance's ID. */
  stored: Stored | undefined;
  replaced: ReadonlyMap<string, Stored>;
  occupied: ReadonlySet<string>;
  /** The reason why the store will never accept the turn. */
  refusal: string | undefined;
}

/** Usually, the commit is too large. */
function isRefused(error: unknown): boolean {
  return isStateError(error) && error.kind === 'invalid';
}

function planOf(services: EngineServices, turn: TurnToWrite, found: Obstacles): TurnPlan {
  const { stored, replaced, occupied, refusal } = found;
  const { store, deps } = services;
  const context = { store, newId: deps.newId, instances: services, replaced, occupied };
  const plan = planTurn(stored, turn.record, turn.end, context);
  const bytes = plan.batch.put.reduce((sum, { value }) => sum + value.byteLength, 0);
  if (bytes <= MAX_VALUES_BYTES && refusal === undefined) return plan;
  const message = refusal ?? `one turn would write ${bytes} bytes: at most ${MAX_VALUES_BYTES} are possible`;
  turn.instance.abandon(message);
  return planTurn(
    stored,
    turn.record,
    { ...turn.end, events: [], children: [], orphans: [], ...failed(services, message) },
    context,
  );
}

function failed(
  { deps }: EngineServices,
  message: string,
): Pick<TurnResult, 'outcome' | 'status' | 'activityCount' | 'retentionMs'> {
  return {
    outcome: { kind: 'failed', failure: { errorType: TOO_LARGE, message } },
    status: 'FAILED',
    activityCount: 0,
    retentionMs: retentionOf(deps, 'FAILED'),
  };
}

function batchOf(
  services: EngineServices,
  { record: { instanceId, chunks }, messages, instance }: TurnToWrite,
  { batch, isRecordWritten, record }: TurnPlan,
  stored: Stored | undefined,
): Change {
  const { layout } = services.store;
  const { put, delete: remove } = batch;
  const fence = services.fence(instanceId);
  const require: Precondition[] = [{ key: layout.instance(instanceId), version: stored?.version ?? 'absent' }];
  // The record's version alone would not show that another host has continued the instance.
  if (!isRecordWritten && fence !== undefined)
    require.push({ key: layout.history(instanceId, chunks), version: 'absent' });
  for (const { entry, receipt, begun } of messages) {
    if (entry !== undefined) {
      require.push(entry);
      remove.push(entry.key);
    }
    if (begun !== undefined) remove.push(begun);
    if (receipt === undefined) continue;
    const change = receiptChange(receipt);
    require.push(...change.require);
    put.push(...change.put);
  }
  require.push(...batch.require);
  for (const key of services.offers.keysOfClosed(instance, record)) if (!remove.includes(key)) remove.push(key);
  return { require, put, delete: remove, fence };
}

interface Obstacle {
  readonly services: EngineServices;
  readonly turn: TurnToWrite;
  readonly found: Obstacles;
  readonly isNew: boolean;
  readonly error: unknown;
}

/** Reads the record of a key whose precondition failed, and notes it for the next plan. */
async function noteObstacle(key: string, { services, turn, found, isNew, error }: Obstacle): Promise<void> {
  const { layout } = services.store;
  const isOwn = key === layout.instance(turn.record.instanceId);
  const child = turn.end.children.find(({ instanceId }) => layout.instance(instanceId) === key);
  if ((isOwn && !isNew) || (!isOwn && child === undefined)) throw error;
  const id = child?.instanceId ?? turn.record.instanceId;
  const present = await services.store.read(id);
  if (isOwn) {
    const mustBeFirst = turn.messages.some((message) => message.mustBeFirst === true);
    if (present !== undefined && (mustBeFirst || !isFinished(present.record.status)))
      throw new InstanceExists(id, present.record.status);
    found.stored = present;
  } else if (present !== undefined && !isFinished(present.record.status))
    found.occupied = new Set([...found.occupied, id]);
  else {
    const replaced = new Map(found.replaced);
    if (present === undefined) replaced.delete(id);
    else replaced.set(id, present);
    found.replaced = replaced;
  }
}

/** Another instance has the ID of a new one. */
export class InstanceExists extends SidecarError {
  constructor(id: string, status: WorkflowStatus) {
    const shown = JSON.stringify(id);
    super(
      'ERR_START_WORKFLOW',
      isFinished(status)
        ? `a workflow with ID ${shown} has run already and is ${status}: give another ID, or ifExists "keep" or "replace"`
        : `an active workflow with ID ${shown} already exists`,
    );
  }
}

async function pause(
  { deps }: EngineServices,
  { instance, messages }: TurnToWrite,
  error: unknown,
  tries: number,
): Promise<void> {
  const { clock, logger, random } = deps;
  // Report the error to callers now; a retry may still succeed.
  for (const { done } of messages) done?.(error);
  logger.error({ instanceId: instance.id, error }, 'the turn of a workflow could not be written: will be tried again');
  await sleep(clock, backoffDelayMs(BACKOFF, tries, random));
}
