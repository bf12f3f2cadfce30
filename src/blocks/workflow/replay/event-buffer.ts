import { Deque } from '../../../util/deque.ts';
import { Heap } from '../../../util/heap.ts';
import { eventKey } from '../model/events.ts';
import type { WorkflowFailure } from '../model/failure.ts';
import type { Payload } from '../model/payload.ts';
import { type ArrivedEvent, EventTask, type TakenEvents } from './event-task.ts';
import type { CodeProgress } from './open-task.ts';

/** An event that no code has got. */
export type UnreadEvent = Pick<ArrivedEvent, 'name' | 'data'>;

/** The tasks that wait for an event. */
interface Line {
  /** As the first of them has written it. */
  readonly name: string;
  readonly tasks: Deque<EventTask>;
}

/** The names of events, for display. */
export interface EventNames {
  readonly awaited: readonly string[];
  readonly unread: readonly string[];
}

const MAX_NAMES = 100;

/** A wait and its event. */
interface Match {
  readonly task: EventTask;
  readonly event: ArrivedEvent;
}

const numberOf = ({ event }: Match): number => event.number;

/** Matches events from outside with waits, both in order of arrival. */
export class EventBuffer {
  readonly #progress: CodeProgress;
  readonly #unread = new Map<string, Deque<ArrivedEvent>>();
  readonly #waiting = new Map<string, Line>();
  /** Events that had arrived before their waits, which get them one at a time. */
  #matches: Heap<Match> | undefined;
  readonly #taken: TakenEvents = { unseen: new Map(), left: new Map() };
  /** The wait that the last step has completed, if the code seems to have left it. */
  #suspect: Match | undefined;
  #arrived = 0;

  constructor(progress: CodeProgress) {
    this.#progress = progress;
  }

  newTask(what: string): EventTask {
    return new EventTask(what, this.#progress, this.#taken);
  }

  /** Adds an event; returns the task that it completed, if one was waiting. */
  raise(name: string, data: Payload): EventTask | undefined {
    const key = eventKey(name);
    const waiting = this.#waiting.get(key)?.tasks;
    for (let task = waiting?.shift(); task !== undefined; task = waiting?.shift()) {
      // Tasks that have timed out are still queued.
      if (task.state !== 'pending') continue;
      if (waiting?.length === 0) this.#waiting.delete(key);
      this.#complete(task, { name, data, number: ++this.#arrived });
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

  /** Gives a new wait the first unread event of its name; returns whether there is one. It completes now or in its turn. */
  match(name: string, task: EventTask, isNow: boolean): boolean {
    const event = this.#take(name);
    if (event === undefined) return false;
    if (isNow) this.#complete(task, event);
    else {
      this.#matches ??= new Heap(numberOf);
      this.#matches.push({ task, event });
    }
    return true;
  }

  #take(name: string): ArrivedEvent | undefined {
    const key = eventKey(name);
    const unread = this.#unread.get(key);
    const event = unread?.shift();
    if (unread?.length === 0) this.#unread.delete(key);
    return event;
  }

  /** Completes the wait whose event arrived first; returns whether there is one. */
  completeNext(): boolean {
    const match = this.#matches?.pop();
    if (match === undefined) return false;
    this.#progress.step++;
    this.#complete(match.task, match.event);
    return true;
  }

  #complete(task: EventTask, event: ArrivedEvent): void {
    const { unseen } = this.#taken;
    const { seemsLeft } = task;
    unseen.set(task, event);
    task.complete(event.data);
    // An event that is known not to have been seen needs no guess.
    this.#suspect = seemsLeft && !unseen.has(task) ? { task, event } : undefined;
  }

  /** The code waits again, or has ended: whether it has made use of the last event. */
  rest(hasEnded: boolean): void {
    const suspect = this.#suspect;
    this.#suspect = undefined;
    const { activeIn, step } = this.#progress;
    if (suspect !== undefined && !hasEnded && activeIn < step) this.#taken.left.set(suspect.task, suspect.event);
  }

  /** Queues a task. */
  wait(name: string, task: EventTask): void {
    const key = eventKey(name);
    const line = this.#waiting.get(key);
    if (line !== undefined) return line.tasks.push(task);
    const tasks = new Deque<EventTask>();
    tasks.push(task);
    this.#waiting.set(key, { name, tasks });
  }

  /** Fails all waits, in the order of their names' first ones. */
  fail(failure: WorkflowFailure): void {
    const lines = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { tasks } of lines) for (const task of tasks.values()) task.fail(failure);
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

  /** Takes the events that no code has got, in order of arrival. */
  takeUnread(): readonly UnreadEvent[] {
    const all = [...this.#taken.unseen.values()];
    for (const unread of this.#unread.values())
      for (let event = unread.shift(); event !== undefined; event = unread.shift()) all.push(event);
    for (let match = this.#matches?.pop(); match !== undefined; match = this.#matches?.pop()) all.push(match.event);
    this.#unread.clear();
    this.#taken.unseen.clear();
    return all.sort((a, b) => a.number - b.number);
  }

  /** The events whose waits the code seems to have left. */
  left(): Iterable<UnreadEvent> {
    return this.#taken.left.values();
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
