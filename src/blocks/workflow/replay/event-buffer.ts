import { Deque } from '../../../util/deque.ts';
import { eventKey } from '../model/events.ts';
import type { Payload } from '../model/payload.ts';
import type { OpenTask } from './open-task.ts';

/** An event that no code has waited for yet. */
export interface UnreadEvent {
  readonly name: string;
  readonly data: Payload;
}

interface Numbered extends UnreadEvent {
  readonly number: number;
}

/** Matches events from outside with waits, both in order of arrival. */
export class EventBuffer {
  readonly #unread = new Map<string, Deque<Numbered>>();
  readonly #waiting = new Map<string, Deque<OpenTask>>();
  #arrived = 0;

  /** Adds an event; returns the task that it completed, if one was waiting. */
  raise(name: string, data: Payload): OpenTask | undefined {
    const key = eventKey(name);
    const waiting = this.#waiting.get(key);
    for (let task = waiting?.shift(); task !== undefined; task = waiting?.shift()) {
      // Tasks that have timed out are still queued.
      if (task.state !== 'pending') continue;
      if (waiting?.length === 0) this.#waiting.delete(key);
      task.complete(data);
      return task;
    }
    this.#waiting.delete(key);
    this.keep(name, data);
    return undefined;
  }

  /** Adds an event for the next run: no code may react to it. */
  keep(name: string, data: Payload): void {
    queueOf(this.#unread, eventKey(name)).push({ name, data, number: ++this.#arrived });
  }

  /** Takes the first unread event of a name. */
  take(name: string): UnreadEvent | undefined {
    const key = eventKey(name);
    const unread = this.#unread.get(key);
    const event = unread?.shift();
    if (unread?.length === 0) this.#unread.delete(key);
    return event;
  }

  /** Queues a task. */
  wait(name: string, task: OpenTask): void {
    const line = queueOf(this.#waiting, eventKey(name));
    line.push(task);
  }

  /** The unread events, in order of arrival. */
  unread(): readonly UnreadEvent[] {
    const all: Numbered[] = [];
    for (const unread of this.#unread.values())
      for (let event = unread.shift(); event !== undefined; event = unread.shift()) all.push(event);
    this.#unread.clear();
    return all.sort((a, b) => a.number - b.number);
  }
}

function queueOf<T>(queues: Map<string, Deque<T>>, key: string): Deque<T> {
  let queue = queues.get(key);
  if (queue === undefined) {
    queue = new Deque();
    queues.set(key, queue);
  }
  return queue;
}
