import type { Payload } from '../model/payload.ts';
import { type CodeProgress, OpenTask } from './open-task.ts';

/** An event from outside, with its number in the order of arrival. */
export interface ArrivedEvent {
  readonly name: string;
  readonly data: Payload;
  readonly number: number;
}

/** Events that waits have taken, and that the code may never get. */
export interface TakenEvents {
  /** No code has got it so far. */
  readonly unseen: Map<EventTask, ArrivedEvent>;
  /** A promise has got it, and it seems that no code waits for that any more. */
  readonly left: Map<EventTask, ArrivedEvent>;
}

/** A wait for an event. */
export class EventTask extends OpenTask {
  readonly #taken: TakenEvents;
  /** The last step in which code began to wait for it. */
  #waitedIn = 0;
  #hasCallback = false;

  constructor(what: string, progress: CodeProgress, taken: TakenEvents) {
    super(what, 0, progress);
    this.#taken = taken;
  }

  override noteWait(isCallback: boolean): void {
    super.noteWait(isCallback);
    this.#waitedIn = this.progress.step;
    this.#hasCallback ||= isCallback;
    this.#taken.left.delete(this);
  }

  override noteSeen(): void {
    this.#taken.unseen.delete(this);
  }

  /**
   * Whether the code has gone on since it waited for the event, as it does when the wait loses a race. It may still
   * react: a branch beside the others does.
   */
  get seemsLeft(): boolean {
    return !this.#hasCallback && this.progress.activeIn > this.#waitedIn;
  }
}
