import { Deque } from '../../../util/deque.ts';
import { eventKey } from '../model/events.ts';
import type { Payload } from '../model/payload.ts';
import type { OpenTask } from './open-task.ts';

/** An event that no code has waited for yet. */
export interface UnreadEvent {
  readonly name: string;
  readonly data: Payload;
}

/** The tasks that wait for an event. */
interface Line {
  /** As the first of them has written it. */
  readonly name: string;
  readonly tasks: Deque<OpenTask>;
}

/** The names of events, for display. */
export interface EventNames {
  readonly awaited: readonly string[];
  readonly unread: readonly string[];
}

const MAX_NAMES = 100;

interface Numbered extends UnreadEvent {
  readonly number: number;
}

/** Matches events from outside with waits, both in order of arrival. */
export class EventBuffer {
  readonly #unread = new Map<string, Deque<Numbered>>();
  readonly #waiting = new Map<string, Line>();
  #arrived = 0;

  /** Adds an event; returns the task that it completed, if one was waiting. */
  raise(name: string, data: Payload): OpenTask | undefined {
    const key = eventKey(name);
    const waiting = this.#waiting.get(key)?.tasks;
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
    const key = eventKey(name);
    const line = this.#waiting.get(key);
    if (line !== undefined) return line.tasks.push(task);
    const tasks = new Deque<OpenTask>();
    tasks.push(task);
    this.#waiting.set(key, { name, tasks });
  }

  /** Which events code waits for, and which ones it has not waited for: at most 100 of each. */
  names(): EventNames {
    const awaited: string[] = [];
    for (const { name, tasks } of this.#waiting.values()) {
      if (awaited.length === MAX_NAMES) break;
      if (tasks.values().some(({ state }) => state === 'pending')) awaited.push(name);
    }
    const unread: string[] = [];
    for (const events of this.#unread.values()) {
      const first = events.peek();
      if (first !== undefined && unread.push(first.name) === MAX_NAMES) break;
    }
    return { awaited, unread };
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
