/** What the state API is to reach beside daprd and beside the drivers by hand. */
import type { Store } from './state-places.ts';
import type { StateTask } from './state-work.ts';
import { ratio } from './stats.ts';
import type { Figures } from './turns.ts';

/** The figures of a row. A floor is a server of node:http that answers at once, or the driver by hand. */
export interface RowFigures {
  readonly http: Figures;
  readonly code: Figures;
  readonly daprd: Figures;
  readonly floor: Figures;
}

interface Aim {
  readonly text: string;
  readonly at: (row: RowFigures) => number;
  readonly least: number;
}

const rateOverHttp = (least: number): Aim => ({
  text: `rate ≥ ${least}`,
  at: ({ http, daprd }) => ratio(http.perSecond, daprd.perSecond),
  least,
});
const cpuOverHttp = (most: number): Aim => ({
  text: `CPU ≤ ${most}`,
  at: ({ http, daprd }) => ratio(daprd.cpuMicros, http.cpuMicros),
  least: 1 / most,
});
const codeBesideDaprd = (least: number): Aim => ({
  text: `code ≥ ${least}`,
  at: ({ code, daprd }) => ratio(code.perSecond, daprd.perSecond),
  least,
});
const codeBesideDriver = (least: number): Aim => ({
  text: `code ≥ ${least} of the driver`,
  at: ({ code, floor }) => ratio(code.perSecond, floor.perSecond),
  least,
});

function aimsOf(store: Store, { operation, callers }: StateTask): readonly Aim[] {
  const isSingle = operation === 'get' || operation === 'set';
  if (store === 'memory') return isSingle ? [rateOverHttp(1.5), cpuOverHttp(0.6), codeBesideDaprd(20)] : [];
  if (store === 'sqlite') return operation === 'set' ? [rateOverHttp(callers === 1 ? 1 : 5)] : [];
  if (store === 'redis' && isSingle) return [rateOverHttp(1), cpuOverHttp(0.7), codeBesideDriver(0.8)];
  if (store === 'redis' && operation === 'getMany') return [rateOverHttp(3)];
  if (store === 'postgresql' && operation === 'transact') return [rateOverHttp(1.5), codeBesideDriver(0.8)];
  return [];
}

/** Each aim of a row, and whether it is met; empty without one. */
export function aimsText(store: Store, task: StateTask, row: RowFigures): string {
  return aimsOf(store, task)
    .map(({ text, at, least }) => {
      const reached = at(row);
      return `${text}: ${Number.isNaN(reached) ? 'not measured' : reached >= least ? 'met' : 'missed'}`;
    })
    .join('; ');
}
