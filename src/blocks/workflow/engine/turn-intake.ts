import type { Precondition } from '../../../state/store.ts';
import type { Deque } from '../../../util/deque.ts';
import { type IncomingEvent, REPLAY_RULES } from '../model/events.ts';
import { isFinished } from '../model/instance.ts';
import type { Core } from '../replay/core.ts';
import { sizeOf } from '../storage/codec.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { ORPHANED } from '../storage/turn-plan.ts';

/** A message to an instance. */
export interface IntakeMessage {
  /** Absent when the message only triggers a turn. */
  readonly event: IncomingEvent | undefined;
  /** The target run; empty for the current run. */
  readonly executionId: string;
  /** The parent whose end it tells: it is for a child of that parent only. */
  readonly parentId?: string | undefined;
  /** Its entry in the inbox, as it was read or written: the turn that takes it requires it. */
  readonly entry?: Precondition | undefined;
  /** Whether its instance must be the first of its ID: one that has finished is not replaced. */
  readonly mustBeFirst?: boolean | undefined;
  /** The receipt that the turn's commit writes for another host. */
  readonly receipt?: string | undefined;
  /** The entry with a count of crashes, which goes with the result of the attempt. */
  readonly begun?: string | undefined;
  /** Called once the message is processed, or with the error. */
  readonly done?: ((error?: unknown) => void) | undefined;
}

const BEGUN: IncomingEvent = { type: 'begun', rules: REPLAY_RULES };
/** Max messages per turn; the rest waits for the next turn. */
const MAX_MESSAGES = 4_096;
const MAX_LENGTH = 8 * 1024 * 1024;

/** The incoming events of a turn: first messages, then the start and timers that are due. */
export class TurnIntake {
  readonly now: number;
  readonly messages: IntakeMessage[] = [];
  readonly events: IncomingEvent[] = [];
  /** Whether its parent no longer waits for it. */
  isOrphan = false;
  readonly #core: Core;
  readonly #record: InstanceRecord;
  readonly #queue: Deque<IntakeMessage>;
  #length = 0;
  #timers = 0;

  constructor(core: Core, record: InstanceRecord, queue: Deque<IntakeMessage>, now: number) {
    this.#core = core;
    this.#record = record;
    this.#queue = queue;
    this.now = now;
  }

  /**
   * Applies as many events as it can. Returns a promise to await before the next call while the code runs;
   * `undefined` when all are applied.
   */
  next(): Promise<void> | undefined {
    while (this.#mayTake) {
      const running = this.#take(this.#queue.shift() as IntakeMessage);
      if (running !== undefined) return running;
    }
    for (let event = this.#shiftDue(); event !== undefined; event = this.#shiftDue()) {
      this.events.push(event);
      const running = this.#core.apply(event, this.now);
      if (running !== undefined) return running;
    }
    return undefined;
  }

  get #mayTake(): boolean {
    if (this.#queue.length === 0 || this.#core.outcome?.kind === 'continued') return false;
    return this.messages.length < MAX_MESSAGES && this.#length <= MAX_LENGTH;
  }

  #take(message: IntakeMessage): Promise<void> | undefined {
    this.messages.push(message);
    const { event } = message;
    if (event === undefined || !this.#concerns(message)) return undefined;
    this.isOrphan ||= message.executionId === ORPHANED;
    this.#length += sizeOf(event);
    this.events.push(event);
    return this.#core.apply(event, this.now);
  }

  /** Whether the message is still relevant: late messages are ignored. */
  #concerns({ event, executionId, parentId }: IntakeMessage): boolean {
    if (executionId !== '' && executionId !== ORPHANED && executionId !== this.#record.executionId) return false;
    // Another instance has got the ID of the child.
    if (parentId !== undefined && parentId !== this.#record.parent?.instanceId) return false;
    if (!isFinished(this.#record.status)) return true;
    return event?.type === 'activityCompleted' || event?.type === 'activityFailed';
  }

  /** Returns the start event once it is due, then timers that are due. */
  #shiftDue(): IncomingEvent | undefined {
    const core = this.#core;
    if (isFinished(this.#record.status) || core.outcome !== undefined) return undefined;
    if (!core.hasBegun && !core.isSuspended && this.#record.startAt <= this.now) return BEGUN;
    return this.#timers++ < MAX_MESSAGES ? core.shiftDue(this.now) : undefined;
  }
}
