import { checkCounters } from './actor-checks.ts';
import type { Begin, Call, Records, Work } from './records.ts';

/** A life of a host. Times are in microseconds. */
export interface Life {
  readonly life: number;
  /** How it was ended; `undefined` while it goes on. */
  readonly ending: 'killed' | 'stopped' | undefined;
  readonly endedAt: number | undefined;
  /** From when to when it stood still. */
  readonly pauses: readonly (readonly [from: number, to: number])[];
}

/** What is wrong, each as a line. All empty when every promise was kept. */
export interface Findings {
  /** Acknowledged and not done; ticks without a run. */
  readonly lost: readonly string[];
  /**
   * Done again after it was recorded, a workflow that went on twice, or a turn that was stored twice: what a host wrote
   * that had lost the shard.
   */
  readonly again: readonly string[];
  /**
   * Messages of an ordered group that came before one that was published earlier; events before one raised earlier; calls
   * of an actor before one made earlier, and turns of it at the same time.
   */
  readonly disordered: readonly string[];
  /** Workflows with a wrong result; calls of actors with a wrong answer, or that are counted and have failed. */
  readonly wrong: readonly string[];
  /** Calls of a living host that did not end, or too late. */
  readonly undecided: readonly string[];
}

/** No call may take longer: a few operations of a store, each of which may try for ten seconds, or a wait of 20 s. */
const MAX_CALL_MS = 45_000;

/** The number at the end of an ID. */
function numberOf(id: string): number {
  return Number(id.split('-').at(-1));
}

/** The functions that a message must reach: see host.mjs. */
function functionsFor(id: string): readonly string[] {
  if (id.startsWith('ordered')) return ['ordered'];
  return [numberOf(id) % 11 === 5 ? 'dead' : 'main', 'audit'];
}

/** Messages and jobs that were acknowledged and not done yet. */
export function undone(records: Records): readonly string[] {
  const messages = records
    .acknowledged('publish')
    .flatMap(({ id }) => functionsFor(id).map((name) => `${name} ${id}`))
    .filter((key) => records.deliveries.get(key)?.isDone !== true);
  const done = new Set([...records.runs.values()].filter(({ isDone }) => isDone).map(({ name }) => name));
  const jobs = records.acknowledged('schedule').filter(({ id }) => !done.has(id));
  return [...messages, ...jobs.map(({ id }) => id)];
}

/** Workflows that are there, or must be, and are not over. */
export function unfinished(records: Records): readonly string[] {
  const running = [...records.workflows].filter(([, { status }]) => status === 'RUNNING' || status === 'PENDING');
  const absent = records.acknowledged('start').filter(({ id }) => !records.workflows.has(id));
  return [...running.map(([id]) => id), ...absent.map(({ id }) => id)];
}

/** Workflows that wait for their event although their start was never acknowledged. */
export function withoutEvent({ workflows, calls }: Records): readonly string[] {
  const waiting = [...workflows].filter(([, { status, tokens }]) => status === 'RUNNING' && tokens.length === 0);
  const ids = waiting.map(([id]) => id);
  return ids.filter((id) => calls.has(`start ${id}`) && calls.get(`start ${id}`)?.result !== 'ok');
}

/** An unfinished workflow, with what is known of its start and its events. */
function described(records: Records, id: string): string {
  const { status, events } = records.workflows.get(id) ?? { status: 'absent', events: [] };
  const start = records.calls.get(`start ${id}`)?.result ?? 'unanswered';
  const raised = [...records.calls.values()].filter((call) => call.what === 'raise' && instanceOf(call.id) === id);
  const answers = raised.map((call) => call.result ?? 'unanswered').join();
  return `${id}: ${status}, start ${start}, events raised: ${answers || 'none'}, received: ${events.join() || 'none'}`;
}

/** A run that has come to rest. */
export interface Rested {
  readonly records: Records;
  readonly lives: readonly Life[];
  /** The period of the recurring jobs. */
  readonly tickMs: number;
  /** That of the reminders of actors. */
  readonly counterTickMs: number;
  /** The messages and jobs that are in the store although all was done: they would be done again. */
  readonly left: readonly string[];
}

/** Checks everything. */
export function check({ records, lives, tickMs, counterTickMs, left }: Rested): Findings {
  const work = [...records.deliveries.values(), ...records.runs.values()];
  const ofCounters = checkCounters(records, counterTickMs);
  return {
    lost: [
      ...undone(records),
      ...unfinished(records).map((id) => described(records, id)),
      ...missingTicks(records, tickMs),
      ...missingEvents(records),
      ...notesOfAll(records)
        .filter(({ at }) => at === -1)
        .map(({ note, token }) => `event ${note}, raised before ${token}`),
      ...ofCounters.lost,
    ],
    again: [
      ...work.flatMap(againOf),
      ...doubledEvents(records),
      ...doubledResults(records),
      ...ofCounters.again,
      ...left,
    ],
    disordered: [...disordered(records), ...disorderedEvents(records), ...ofCounters.disordered],
    wrong: [...wrongResults(records), ...ofCounters.wrong],
    undecided: [...records.calls.values()].flatMap((call) => undecidedOf(call, lives)),
  };
}

function missingTicks({ runs }: Records, tickMs: number): string[] {
  const byJob = new Map<string, number[]>();
  for (const { name, id, isDone } of runs.values()) {
    if (!name.startsWith('tick') || !isDone) continue;
    const instants = byJob.get(name) ?? [];
    byJob.set(name, [...instants, Number(id)]);
  }
  return [...byJob].flatMap(([name, instants]) => {
    const sorted = instants.sort((a, b) => a - b);
    return sorted.flatMap((instant, at) => {
      const before = sorted[at - 1];
      if (before === undefined || instant - before === tickMs) return [];
      return [`${name}: nothing between ${before} and ${instant}`];
    });
  });
}

/** The instance that an event was for. */
function instanceOf(token: string): string {
  return token.slice(0, token.lastIndexOf('/'));
}

/** Acknowledged events that the workflow has not got, unless it was over with another one. */
function missingEvents({ workflows, ...records }: Records): string[] {
  return [...records.calls.values()]
    .filter(({ what, result }) => what === 'raise' && result === 'ok')
    .filter(({ id }) => workflows.get(instanceOf(id))?.tokens.length === 0)
    .map(({ id }) => `event ${id}`);
}

function doubledEvents({ workflows }: Records): string[] {
  return [...workflows.values()].flatMap(({ events }) =>
    events.filter((event, at) => events.indexOf(event) !== at).map((event) => `event ${event} came twice`),
  );
}

/** An acknowledged event that was raised before one that its workflow has got. */
interface Note {
  readonly note: string;
  readonly at: number;
  readonly token: string;
  readonly tokenAt: number;
}

function notesOfAll({ workflows, calls }: Records): Note[] {
  return [...workflows.values()].flatMap(({ events, tokens }) =>
    tokens.flatMap((token) =>
      [`${token}.1`, `${token}.2`]
        .filter((note) => calls.get(`note ${note}`)?.result === 'ok')
        .map((note) => ({ note, at: events.indexOf(note), token, tokenAt: events.indexOf(token) })),
    ),
  );
}

/** A host raises events of a workflow one after the other, without waiting: they come in this order. */
function disorderedEvents(records: Records): string[] {
  return notesOfAll(records).flatMap(({ note, at, token, tokenAt }, index, all) => {
    const before = all[index - 1];
    const isAfterToken = at > tokenAt ? [`event ${note} came after ${token}`] : [];
    const isBeforeFirst =
      before?.token === token && at !== -1 && at < before.at ? [`event ${note} came before ${before.note}`] : [];
    return [...isAfterToken, ...isBeforeFirst];
  });
}

function doubledResults({ workflows }: Records): string[] {
  return [...workflows]
    .filter(([, { status, results }]) => status === 'COMPLETED' && results !== '1')
    .map(([id, { results }]) => `results of ${id}: ${results}`);
}

/** A dead letter may be there twice, when the host was killed between writing it and settling the message. */
function againOf({ name, id, begins, recorded }: Work): string[] {
  if (recorded === undefined || name === 'dead') return [];
  return begins
    .filter(({ at }) => at > recorded.at)
    .map((begin) => `${name} ${id}: recorded by ${text(recorded)}, begun by ${text(begin)}`);
}

function text({ life, at }: Begin): string {
  return `host ${life} at ${at} µs`;
}

/** A host publishes one message of a topic after the other: they come to an ordered group in this order. */
function disordered(records: Records): string[] {
  const bySource = new Map<string, [number: number, firstAt: number][]>();
  for (const { id } of records.acknowledged('publish')) {
    const begins = records.deliveries.get(`ordered ${id}`)?.begins ?? [];
    if (begins.length === 0) continue;
    const source = id.slice(0, id.lastIndexOf('-'));
    const messages = bySource.get(source) ?? [];
    bySource.set(source, messages);
    messages.push([numberOf(id), Math.min(...begins.map(({ at }) => at))]);
  }
  return [...bySource].flatMap(([source, messages]) => {
    const sorted = messages.sort(([a], [b]) => a - b);
    return sorted.flatMap(([number, at], index) => {
      const before = sorted[index - 1];
      return before === undefined || before[1] <= at ? [] : [`${source}-${before[0]} came after ${number}`];
    });
  });
}

function wrongResults({ workflows, calls }: Records): string[] {
  const answers = [...calls.values()].filter(({ result }) => result === 'WRONG_RESULT');
  const ends = [...workflows]
    .filter(([, { status }]) => status !== 'RUNNING' && status !== 'PENDING')
    .filter(([id, { status, output }]) => {
      if (status !== 'COMPLETED') return true;
      // A child has the number of its parent, to which it adds less.
      return id.startsWith('w-') && id.split('-').length === 3 && Number(output) !== numberOf(id) + 1_111;
    })
    .map(([id, { status, output }]) => `${id}: ${status} ${output}`);
  return [...ends, ...answers.map(({ what, id }) => `${what} ${id} was answered wrongly`)];
}

/** The time that a host stood still does not count. */
function undecidedOf({ what, id, life, at, endedAt }: Call, lives: readonly Life[]): string[] {
  const of = lives[life];
  const until = endedAt ?? of?.endedAt;
  if (of === undefined || until === undefined) return [`${what} ${id} has not ended`];
  if (endedAt === undefined && of.ending === 'stopped') return [`${what} ${id} had not ended when its host had`];
  const stoodStill = of.pauses.reduce(
    (sum, [from, to]) => sum + Math.max(0, Math.min(to, until) - Math.max(from, at)),
    0,
  );
  const tookMs = (until - at - stoodStill) / 1_000;
  return tookMs > MAX_CALL_MS ? [`${what} ${id} took ${Math.round(tookMs)} ms`] : [];
}
