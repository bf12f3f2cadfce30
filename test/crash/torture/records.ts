/** A call of a host. Times are in microseconds. */
export interface Call {
  readonly what: string;
  readonly id: string;
  readonly life: number;
  readonly at: number;
  endedAt?: number;
  /** `ok` or an error code. */
  result?: string;
}

/** When and where the work on something began. */
export interface Begin {
  readonly life: number;
  readonly at: number;
}

/** What became of a message at a function, or of a run of a job. */
export interface Work {
  /** The function, or the job. */
  readonly name: string;
  /** The message, or the instant. */
  readonly id: string;
  readonly begins: Begin[];
  /** Whether the function has succeeded with it. */
  isDone: boolean;
  /** When and where the sidecar first told that this is recorded. */
  recorded: Begin | undefined;
}

/** A workflow as the store had it at the end. */
export interface Ended {
  readonly status: string;
  readonly output: string;
  /** `1` when each of its activities has one result. */
  readonly results: string;
  /** The events that it has got, in order: `<token>.1` and `<token>.2` were raised before `<token>`. */
  readonly events: readonly string[];
  /** Those of them that it waited for. */
  readonly tokens: readonly string[];
}

/** A turn of an actor. Times are in microseconds. */
export interface Turn {
  readonly token: string;
  readonly life: number;
  readonly at: number;
  /** When its code had ended; infinite if that is not known. */
  endedAt: number;
}

/** What an actor had counted at the end. */
export interface Counter {
  /** Its calls, in their order. */
  readonly calls: readonly string[];
  /** The calls whose reminders have come. */
  readonly fired: readonly string[];
  /** The instants of its recurring reminder. */
  readonly ticks: readonly number[];
}

const NOTE = /\.\d$/;

/** What all hosts wrote, put together. The lines of different hosts come in any order. */
export class Records {
  /** By what and ID. */
  readonly calls = new Map<string, Call>();
  readonly deliveries = new Map<string, Work>();
  readonly runs = new Map<string, Work>();
  readonly workflows = new Map<string, Ended>();
  readonly counters = new Map<string, Counter>();
  /** By actor. */
  readonly turns = new Map<string, Turn[]>();
  /** What calls of actors were answered. */
  readonly answers = new Map<string, number>();
  /** How late the next tick of an actor was at the end, in milliseconds; 0 if it came. */
  readonly lateness = new Map<string, number>();
  /** Called when a call has begun or ended. */
  onCall: (call: Call) => void = () => undefined;

  /** Takes a line of a host; answers its kind. */
  add(life: number, line: string): string {
    const [kind = '', time, ...words] = line.split(' ');
    const at = Number(time);
    const [first = '', second = '', third = ''] = words;
    if (kind === 'C') this.#call({ what: first, id: second, life, at });
    if (kind === 'R') this.#ended(`${first} ${second}`, at, third);
    if (kind === 'D') workOf(this.deliveries, first, second).begins.push({ life, at });
    if (kind === 'A' && third === 'SUCCESS') workOf(this.deliveries, first, second).isDone = true;
    if (kind === 'S' || kind === 'X') record(workOf(this.deliveries, first, second), { life, at });
    if (kind === 'T') workOf(this.runs, first, second).begins.push({ life, at });
    if (kind === 'Z') workOf(this.runs, first, second).isDone = true;
    if (kind === 'J') record(workOf(this.runs, first, second), { life, at });
    if (kind === 'Q') this.workflows.set(first, endedOf(words));
    this.#addOfActor(kind, { life, at, words });
    return kind;
  }

  #addOfActor(kind: string, { life, at, words }: { life: number; at: number; words: readonly string[] }): void {
    const [id = '', second = '', third = ''] = words;
    if (kind === 'B') this.#turnsOf(id).push({ token: second, life, at, endedAt: Number.POSITIVE_INFINITY });
    if (kind === 'E') endTurn(this.#turnsOf(id), second, { life, at });
    if (kind === 'G') this.answers.set(`${id}/${second}`, Number(third));
    if (kind === 'I' && !this.lateness.has(id)) this.lateness.set(id, Number(second));
    if (kind === 'K') this.counters.set(id, counterOf(words));
  }

  #turnsOf(id: string): Turn[] {
    const turns = this.turns.get(id) ?? [];
    this.turns.set(id, turns);
    return turns;
  }

  #call(call: Call): void {
    this.calls.set(`${call.what} ${call.id}`, call);
    this.onCall(call);
  }

  #ended(key: string, at: number, result: string): void {
    const call = this.calls.get(key);
    if (call === undefined) throw new Error(`the call ${key} has ended without having begun`);
    call.endedAt = at;
    call.result = result;
    this.onCall(call);
  }

  /** The calls of a kind that were acknowledged. */
  acknowledged(what: string): readonly Call[] {
    return [...this.calls.values()].filter((call) => call.what === what && call.result === 'ok');
  }
}

function workOf(all: Map<string, Work>, name: string, id: string): Work {
  const known = all.get(`${name} ${id}`);
  if (known !== undefined) return known;
  const work: Work = { name, id, begins: [], isDone: false, recorded: undefined };
  all.set(`${name} ${id}`, work);
  return work;
}

function record(work: Work, at: Begin): void {
  if (work.recorded === undefined || at.at < work.recorded.at) work.recorded = at;
}

function endTurn(turns: readonly Turn[], token: string, { life, at }: Begin): void {
  const turn = turns.findLast((one) => one.token === token && one.life === life);
  if (turn !== undefined) turn.endedAt = at;
}

function counterOf([, ...lists]: readonly string[]): Counter {
  const [calls = [], fired = [], ticks = []] = lists.map((list) => (list === '-' ? [] : list.split(',')));
  return { calls, fired, ticks: ticks.map(Number) };
}

function endedOf([, status = '', output = '', results = '', told = '-']: readonly string[]): Ended {
  const events = told === '-' ? [] : told.split(',');
  return { status, output, results, events, tokens: events.filter((event) => !NOTE.test(event)) };
}
