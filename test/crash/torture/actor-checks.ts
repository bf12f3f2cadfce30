import type { Findings } from './checks.ts';
import type { Counter, Records, Turn } from './records.ts';

function numberOf(token: string): number {
  return Number(token.split('-').at(-1));
}

/** Whether a call fails on purpose: see host-actors.mjs. */
function isToFail(token: string): boolean {
  return numberOf(token) % 13 === 5;
}

function hasReminder(token: string): boolean {
  return numberOf(token) % 5 === 1;
}

/** Counters with calls whose reminder has not come yet. */
export function unfired({ counters }: Records): readonly string[] {
  return [...counters].flatMap(([id, { calls, fired }]) => {
    const known = new Set(fired);
    return calls
      .filter((token) => hasReminder(token) && !known.has(token))
      .map((token) => `reminder of ${id}/${token}`);
  });
}

/** Checks what the counters counted, in which order, and their ticks. */
export function checkCounters(records: Records, tickMs: number): Omit<Findings, 'undecided'> {
  const all = [...records.counters];
  return {
    lost: [
      ...uncounted(records),
      ...unfired(records),
      ...all.flatMap(([id, { ticks }]) => missing(id, ticks, tickMs)),
      ...stopped(records),
    ],
    again: all.flatMap(([id, { calls, fired, ticks }]) => [
      ...repeated(calls).map((token) => `${id}/${token} was counted twice`),
      ...repeated(fired).map((token) => `the reminder of ${id}/${token} was stored twice`),
      ...repeated(ticks).map((at) => `tick ${at} of ${id} was stored twice`),
    ]),
    disordered: [...all.flatMap(([id, counter]) => disordered(id, counter)), ...overlaps(records)],
    wrong: [...wrongAnswers(records), ...all.flatMap(([id, counter]) => unwanted(id, counter))],
  };
}

function uncounted(records: Records): string[] {
  return records.acknowledged('count').flatMap(({ id }) => {
    const [counter = '', token = ''] = id.split('/');
    return records.counters.get(counter)?.calls.includes(token) === true ? [] : [`count ${id}`];
  });
}

function missing(id: string, ticks: readonly number[], tickMs: number): string[] {
  const sorted = ticks.toSorted((a, b) => a - b);
  return sorted.flatMap((at, index) => {
    const before = sorted[index - 1];
    return before === undefined || at - before <= tickMs ? [] : [`${id}: no tick between ${before} and ${at}`];
  });
}

/** Counters that had stopped to tick before they were to. */
function stopped({ lateness, calls }: Records): string[] {
  const silenced = new Set([...calls.values()].filter(({ what }) => what === 'silence').map(({ id }) => counterOf(id)));
  return [...silenced].flatMap((id) => {
    const lateMs = lateness.get(id);
    if (lateMs === undefined) return [`the ticking of ${id} is gone`];
    return lateMs > 0 ? [`the tick of ${id} is ${lateMs} ms late, and does not come`] : [];
  });
}

/** The ID of a call that is repeated until it is acknowledged has life and number at its end. */
function counterOf(id: string): string {
  return id.split('-').slice(0, -2).join('-');
}

function repeated<T>(list: readonly T[]): T[] {
  return list.filter((entry, index) => list.indexOf(entry) !== index);
}

/** A host waits for the answer of a counter before it calls it again: no earlier call may come after a later one. */
function disordered(id: string, { calls }: Counter): string[] {
  const latest = new Map<string, number>();
  return calls.flatMap((token) => {
    const caller = token.slice(0, token.lastIndexOf('-'));
    const before = latest.get(caller) ?? -1;
    latest.set(caller, Math.max(before, numberOf(token)));
    return numberOf(token) < before ? [`${id}/${token} came after ${caller}-${before}`] : [];
  });
}

/** Turns of a counter at the same time: at one host, or such as were stored, whatever the host. */
function overlaps({ turns, counters }: Records): string[] {
  return [...turns].flatMap(([id, ofCounter]) => {
    const stored = new Set(counters.get(id)?.calls);
    const sorted = ofCounter.toSorted((a, b) => a.at - b.at);
    const ofLives = [...new Set(sorted.map(({ life }) => life))].map((life) =>
      sorted.filter((turn) => turn.life === life),
    );
    return [...ofLives, sorted.filter(({ token }) => stored.has(token))].flatMap((line) => overlapsIn(id, line));
  });
}

function overlapsIn(id: string, sorted: readonly Turn[]): string[] {
  return sorted.flatMap((turn, index) => {
    const before = sorted[index - 1];
    const isAfter = before === undefined || before.endedAt <= turn.at;
    return isAfter ? [] : [`${id}: ${turn.token} at host ${turn.life} began during ${before.token} at ${before.life}`];
  });
}

/** An answer is the number of calls that were counted until then. */
function wrongAnswers({ answers, counters }: Records): string[] {
  return [...answers].flatMap(([call, answer]) => {
    const [id = '', token = ''] = call.split('/');
    const place = (counters.get(id)?.calls.indexOf(token) ?? -1) + 1;
    // One that is not there is lost.
    return place === 0 || place === answer ? [] : [`${call} was answered ${answer}, and is number ${place}`];
  });
}

function unwanted(id: string, { calls, fired }: Counter): string[] {
  const counted = new Set(calls);
  return [
    ...calls.filter(isToFail).map((token) => `${id}/${token} was counted, and had failed`),
    ...fired.filter((token) => !counted.has(token)).map((token) => `${id}/${token} had a reminder and was not counted`),
  ];
}
