import type { HistoryEventInfo, InstanceInfo } from '../../api/workflows.ts';

/** The outcome of a bar: `unfinished` if the workflow has ended, or gone on, without its result. */
export type Outcome = 'done' | 'failed' | 'pending' | 'unfinished';

/** A stretch of time in a row. */
export interface Bar {
  /** `wait`: between two attempts. */
  readonly kind: 'run' | 'wait' | 'paused' | 'instant';
  readonly from: number;
  /** `undefined`: it has not ended. */
  readonly to: number | undefined;
  readonly outcome: Outcome;
  /** Of an activity, from 1. */
  readonly attempt?: number | undefined;
  /** The indexes of its events in the history. */
  readonly events: readonly number[];
}

/** An action of the workflow, an event that it got, or the workflow itself. */
export interface Row {
  readonly key: string;
  readonly kind: 'workflow' | 'activity' | 'timer' | 'child' | 'event' | 'patch';
  readonly name: string;
  readonly state: Outcome;
  readonly bars: readonly Bar[];
  /** How many attempts there were. */
  readonly attempts: number;
  /** Whether any attempt has failed. */
  readonly hasFailure: boolean;
  /** The number of the action, from which the workflow can be run again. */
  readonly sequence?: number | undefined;
  /** Of a child. */
  readonly instanceId?: string | undefined;
  /** Of a timer. */
  readonly dueAt?: number | undefined;
  /** The indexes of its events in the history. */
  readonly events: readonly number[];
}

/** A history as rows, the first one that of the workflow itself. */
export interface Timeline {
  readonly rows: readonly Row[];
  readonly from: number;
  /** The time of the last event, or of the last turn. */
  readonly to: number;
}

export type RowFilter = 'all' | 'failed' | 'pending';
type Instance = Pick<InstanceInfo, 'name' | 'status' | 'createdAt' | 'lastUpdatedAt'>;

/** The rows of a history, in the order of their first events. */
export function timelineOf(instance: Instance, history: readonly HistoryEventInfo[]): Timeline {
  const to = Math.max(instance.lastUpdatedAt, history.at(-1)?.at ?? 0);
  const from = Math.min(instance.createdAt, history[0]?.at ?? to);
  const actions = new Actions();
  for (const event of history) actions.add(event);
  const end: End = { at: to, hasEnded: isOver(instance.status) };
  const rows = [workflowRow(instance, history, end), ...actions.drafts().map((draft) => rowOf(draft, end))];
  return { rows, from, to };
}

/** The rows that a filter means. */
export function rowsLike(rows: readonly Row[], filter: RowFilter): readonly Row[] {
  if (filter === 'failed') return rows.filter(({ hasFailure }) => hasFailure);
  return filter === 'pending' ? rows.filter(({ state }) => state === 'pending') : rows;
}

/** Whether an instance has finished. */
export function isOver(status: InstanceInfo['status']): boolean {
  return STATES[status] !== undefined;
}

interface End {
  readonly at: number;
  readonly hasEnded: boolean;
}

/** An action that is under way, or was. */
interface Attempt {
  readonly begin: HistoryEventInfo;
  /** The timer that led to it: the wait before it. */
  readonly timer: Attempt | undefined;
  /** In which turn it failed. */
  failedIn?: number;
  result?: HistoryEventInfo;
}

interface Draft {
  readonly kind: Row['kind'];
  readonly attempts: Attempt[];
}

/**
 * Collects the actions of a history.
 *
 * The wait for another attempt is a timer that the history does not mark. It was made in the turn in which the attempt
 * before has failed, and it fires in the turn that makes the next attempt.
 */
class Actions {
  /** `undefined` stands for a timer that turned out to be the wait for another attempt. */
  readonly #drafts: (Draft | undefined)[] = [];
  readonly #open = new Map<number, Attempt>();
  /** The draft of an activity by its `activityId`, and the place of a timer's. */
  readonly #calls = new Map<number, Draft>();
  readonly #timers = new Map<Attempt, { readonly place: number; readonly turn: number }>();
  /** The timers that have fired in this turn. */
  #fired: Attempt[] = [];
  #turn = 0;
  #at = Number.NEGATIVE_INFINITY;
  #hasActed = false;

  add(event: HistoryEventInfo): void {
    const kind = BEGINNINGS[event.type];
    this.#enter(event, kind !== undefined && event.type !== 'eventRaised');
    if (kind !== undefined) this.#begin(kind, event);
    else this.#end(event);
  }

  drafts(): readonly Draft[] {
    return this.#drafts.filter((draft) => draft !== undefined);
  }

  /** A turn is what came in, and then the actions: what comes in after an action begins another turn. */
  #enter({ at }: HistoryEventInfo, isAction: boolean): void {
    if (at !== this.#at || (this.#hasActed && !isAction)) {
      this.#turn++;
      this.#fired = [];
    }
    this.#at = at;
    this.#hasActed = isAction;
  }

  #begin(kind: Row['kind'], event: HistoryEventInfo): void {
    const { sequence, activityId = sequence } = event;
    const call = kind === 'activity' ? this.#calls.get(activityId ?? -1) : undefined;
    const timer = call === undefined ? undefined : this.#takeTimer(call);
    const attempt: Attempt = { begin: event, timer };
    if (sequence !== undefined) this.#open.set(sequence, attempt);
    if (call !== undefined) {
      call.attempts.push(attempt);
      return;
    }
    const draft = { kind, attempts: [attempt] };
    if (kind === 'activity' && activityId !== undefined) this.#calls.set(activityId, draft);
    if (kind === 'timer') this.#timers.set(attempt, { place: this.#drafts.length, turn: this.#turn });
    this.#drafts.push(draft);
  }

  /** The timer that has led to the next attempt: it has no row of its own. */
  #takeTimer({ attempts }: Draft): Attempt | undefined {
    const failedIn = attempts.at(-1)?.failedIn;
    const index = this.#fired.findIndex((timer) => this.#timers.get(timer)?.turn === failedIn);
    const [timer] = index < 0 ? [] : this.#fired.splice(index, 1);
    const place = timer && this.#timers.get(timer)?.place;
    if (place !== undefined) this.#drafts[place] = undefined;
    return timer;
  }

  #end(event: HistoryEventInfo): void {
    const attempt = this.#open.get(event.sequence ?? -1);
    if (attempt === undefined || attempt.result !== undefined) return;
    attempt.result = event;
    if (event.failure !== undefined) attempt.failedIn = this.#turn;
    if (event.type === 'timerFired') this.#fired.push(attempt);
  }
}

/** The events that begin a row. */
const BEGINNINGS: { readonly [Type in HistoryEventInfo['type']]?: Row['kind'] } = {
  activityScheduled: 'activity',
  timerCreated: 'timer',
  childStarted: 'child',
  eventRaised: 'event',
  patched: 'patch',
};

function rowOf({ kind, attempts }: Draft, end: End): Row {
  const bars = attempts.flatMap((attempt) => {
    const bar = barOf(kind, attempt, end);
    return attempt.timer === undefined ? [bar] : [waitOf(attempt.timer), bar];
  });
  const first = attempts[0]?.begin;
  const { sequence, instanceId, dueAt, name = kind, index = 0 } = first ?? {};
  return {
    key: `${kind}-${index}`,
    kind,
    name,
    state: bars.at(-1)?.outcome ?? 'done',
    bars,
    attempts: attempts.length,
    hasFailure: bars.some(({ outcome }) => outcome === 'failed'),
    sequence,
    instanceId,
    dueAt,
    events: bars.flatMap(({ events }) => events),
  };
}

function waitOf({ begin, result }: Attempt): Bar {
  const events = result === undefined ? [begin.index] : [begin.index, result.index];
  return { kind: 'wait', from: begin.at, to: result?.at ?? begin.at, outcome: 'done', events };
}

function barOf(kind: Row['kind'], { begin, result }: Attempt, end: End): Bar {
  const from = begin.at;
  if (kind === 'event' || kind === 'patch')
    return { kind: 'instant', from, to: from, outcome: 'done', events: [begin.index] };
  const base = { kind: 'run', from, attempt: kind === 'activity' ? (begin.attempt ?? 1) : undefined } as const;
  if (result !== undefined) {
    const outcome = result.failure === undefined ? 'done' : 'failed';
    return { ...base, to: result.at, outcome, events: [begin.index, result.index] };
  }
  const events = [begin.index];
  // The limit of an event that came in time does not fire, and the history does not say so.
  const isForgotten = begin.dueAt !== undefined && begin.dueAt < end.at;
  if (!end.hasEnded && !isForgotten) return { ...base, to: undefined, outcome: 'pending', events };
  return { ...base, to: Math.min(begin.dueAt ?? end.at, end.at), outcome: 'unfinished', events };
}

/** Of instances that are over. */
const STATES: Readonly<Partial<Record<InstanceInfo['status'], Outcome>>> = {
  COMPLETED: 'done',
  FAILED: 'failed',
  TERMINATED: 'unfinished',
  CANCELED: 'unfinished',
};

function workflowRow({ name, status, createdAt }: Instance, history: readonly HistoryEventInfo[], end: End): Row {
  const state = STATES[status] ?? 'pending';
  const own = history.filter(({ type }) => OWN.has(type));
  const events = own.map(({ index }) => index);
  const from = Math.min(createdAt, history[0]?.at ?? createdAt);
  const run: Bar = { kind: 'run', from, to: end.hasEnded ? end.at : undefined, outcome: state, events };
  const bars = [run, ...pausesOf(own, end)];
  return { key: 'workflow', kind: 'workflow', name, state, bars, attempts: 1, hasFailure: state === 'failed', events };
}

const OWN: ReadonlySet<HistoryEventInfo['type']> = new Set([
  'started',
  'suspended',
  'resumed',
  'cancelRequested',
  'terminated',
]);

function pausesOf(own: readonly HistoryEventInfo[], { at, hasEnded }: End): Bar[] {
  const bars: Bar[] = [];
  let since: HistoryEventInfo | undefined;
  for (const event of own)
    if (event.type === 'suspended') since ??= event;
    else if (since !== undefined && event.type !== 'started' && event.type !== 'cancelRequested') {
      const events = [since.index, event.index];
      bars.push({ kind: 'paused', from: since.at, to: event.at, outcome: 'done', events });
      since = undefined;
    }
  if (since === undefined) return bars;
  const events = [since.index];
  const open = hasEnded
    ? ({ to: at, outcome: 'unfinished' } as const)
    : ({ to: undefined, outcome: 'pending' } as const);
  return [...bars, { kind: 'paused', from: since.at, ...open, events }];
}
