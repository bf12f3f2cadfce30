import type { Deque } from '../../../util/deque.ts';
import type { IncomingEvent } from '../model/events.ts';
import { isFinished } from '../model/instance.ts';
import type { Core } from '../replay/core.ts';
import { sizeOf } from '../storage/codec.ts';
import type { InstanceRecord } from '../storage/record.ts';
import { ORPHANED } from '../storage/turn-plan.ts';

/** Something for an instance. */
export interface Message {
  /** Absent: it is only to look. */
  readonly event: IncomingEvent | undefined;
  /** The run that it is meant for; empty for whatever runs. */
  readonly executionId: string;
  /** Where it lies in the store. */
  readonly inboxKey?: string | undefined;
  /** Where the turn that takes it in leaves word of that, for another host. */
  readonly receipt?: string | undefined;
  /** Hears when it is in the history, or why not. */
  readonly done?: ((error?: unknown) => void) | undefined;
}

/** The most that one turn takes in: what comes then is for the next one. */
const MAX_MESSAGES = 4_096;
const MAX_LENGTH = 8 * 1024 * 1024;

/** What a turn takes in: what has come for the instance, and then what is due. */
export class TurnIntake {
  readonly now: number;
  readonly messages: Message[] = [];
  readonly events: IncomingEvent[] = [];
  /** It is no child any more that anybody waits for. */
  isOrphan = false;
  readonly #core: Core;
  readonly #record: InstanceRecord;
  readonly #queue: Deque<Message>;
  #length = 0;
  #timers = 0;

  constructor(core: Core, record: InstanceRecord, queue: Deque<Message>, now: number) {
    this.#core = core;
    this.#record = record;
    this.#queue = queue;
    this.now = now;
  }

  /**
   * Takes in what it can at once. Answers what to wait for before it is called again, while the code runs; nothing
   * when all is taken in.
   */
  next(): Promise<void> | undefined {
    while (this.#mayTake) {
      const running = this.#take(this.#queue.shift() as Message);
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

  #take(message: Message): Promise<void> | undefined {
    this.messages.push(message);
    const { event } = message;
    if (event === undefined || !this.#concerns(message)) return undefined;
    this.isOrphan ||= message.executionId === ORPHANED;
    this.#length += sizeOf(event);
    this.events.push(event);
    return this.#core.apply(event, this.now);
  }

  /** What has come too late changes nothing. */
  #concerns({ event, executionId }: Message): boolean {
    if (executionId !== '' && executionId !== ORPHANED && executionId !== this.#record.executionId) return false;
    if (!isFinished(this.#record.status)) return true;
    return event?.type === 'activityCompleted' || event?.type === 'activityFailed';
  }

  /** The code begins when its time has come; after that, timers fire. */
  #shiftDue(): IncomingEvent | undefined {
    const core = this.#core;
    if (isFinished(this.#record.status) || core.outcome !== undefined) return undefined;
    if (!core.hasBegun && !core.isSuspended && this.#record.startAt <= this.now) return { type: 'begun' };
    return this.#timers++ < MAX_MESSAGES ? core.shiftDue(this.now) : undefined;
  }
}
