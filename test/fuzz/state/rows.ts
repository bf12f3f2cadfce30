import fc from 'fast-check';
import type { KeyedEntry, StateStore } from '../../../src/state/store.ts';
import { KeptStore } from '../../support/kept-store.ts';
import { place } from '../hostile.ts';
import { TallyLogger } from '../log-tally.ts';
import { type Session, type Target, tryPortion } from '../portion.ts';
import { Examination, type Examined, fill, sidecarOn } from './sample.ts';

const RUNS = 12;
const MAX_AT_ONCE = 8;

/** What is done to the value of one row. */
type RowDamage =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'empty' }
  | { readonly kind: 'zeros' }
  | { readonly kind: 'format' }
  | { readonly kind: 'text'; readonly text: string };

interface Case {
  /** Which row, between 0 and 1. */
  readonly row: number;
  readonly damage: RowDamage;
}

const rowDamage: fc.Arbitrary<RowDamage> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('flip' as const), at: place, bit: fc.nat({ max: 7 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: place }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ kind: 'empty' as const }, { kind: 'zeros' as const }, { kind: 'format' as const }),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('{}', 'null', '[]', '{}\n', '[]\n', 'null\n', '{"n":1}\n', '[1,2,3]\n', '"', '\n')
      .map((text) => ({ kind: 'text' as const, text })),
  },
);

/** Rows of a store, one of which has another value than was written. */
export const rows: Target = {
  name: 'rows',
  open: async () => {
    const entries = await sampleEntries();
    const session: Session = {
      try: async (seed) => {
        let count = 0;
        const cases = fc.array(fc.record({ row: place, damage: rowDamage }), { minLength: 1, maxLength: MAX_AT_ONCE });
        const attempt = async (group: readonly Case[]): Promise<void> => {
          count += group.length;
          await Promise.all(group.map((one) => tryCase(entries, one)));
        };
        await tryPortion(cases, attempt, { seed, numRuns: RUNS });
        return count;
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    return session;
  },
};

async function sampleEntries(): Promise<readonly KeyedEntry[]> {
  const kept = new KeptStore();
  const sidecar = sidecarOn(kept, new TallyLogger());
  await sidecar.start();
  await fill(sidecar);
  await sidecar.stop();
  return kept.memory.scan({ from: '' });
}

async function tryCase(entries: readonly KeyedEntry[], { row, damage }: Case): Promise<void> {
  const chosen = entries[Math.min(entries.length - 1, Math.floor(row * entries.length))];
  if (chosen === undefined) return;
  const logger = new TallyLogger();
  const examined = await examine(entries, { ...chosen, value: damaged(chosen.value, damage) }, logger);
  judge(examined, chosen.key, logger);
}

async function examine(entries: readonly KeyedEntry[], changed: KeyedEntry, logger: TallyLogger): Promise<Examined> {
  const kept = new KeptStore();
  const store: StateStore = kept.memory;
  for (const { key, value } of entries)
    await store.commit({ put: [{ key, value: key === changed.key ? changed.value : value }] });
  return new Examination(kept, logger).run();
}

/** Rows of one job, one workflow or one message; the others are those that all need: hosts, groups, counters. */
const OF_ONE = /^(?:jobs|workflows)!|!ready!/;
/** Errors that say nothing to who reads them. */
const FOREIGN = /TypeError|RangeError|SyntaxError|ReferenceError|is not a function|JSON|undefined|NaN/;

/** What is missing is told of, and the damage of one thing costs no other. */
function judge({ missing, told, stuck }: Examined, key: string, logger: TallyLogger): void {
  const lines = [...logger.tally.keys()];
  const said = `told: ${told.join('; ') || 'nothing'}; log: ${lines.join('; ') || 'nothing'}`;
  const fail = (what: string): never => {
    throw new Error(`after a damage of ${key}: ${what}; ${said}`);
  };
  const foreign = told.find((line) => FOREIGN.test(line) && !line.includes(' damaged ('));
  if (foreign !== undefined) fail(`the error is no explanation: ${foreign}`);
  if (!OF_ONE.test(key)) return;
  if (stuck.length > 0) fail(`${stuck.join()} stuck`);
  if (missing.length > 1) fail(`${missing.join()} missing`);
  if (missing.length > 0 && told.length + lines.length === 0) fail(`${missing.join()} missing in silence`);
}

/** The value with the damage. */
function damaged(value: Uint8Array, damage: RowDamage): Uint8Array {
  const bytes = Buffer.from(value);
  switch (damage.kind) {
    case 'flip': {
      const at = Math.min(bytes.length - 1, Math.floor(damage.at * bytes.length));
      bytes[at] = (bytes[at] ?? 0) ^ (1 << damage.bit);
      return bytes;
    }
    case 'cut':
      return bytes.subarray(0, Math.floor(damage.at * bytes.length));
    case 'empty':
      return bytes.subarray(0, 0);
    case 'zeros':
      return bytes.fill(0);
    case 'format':
      bytes[0] = 200;
      return bytes;
    case 'text':
      return Buffer.concat([bytes.subarray(0, 1), Buffer.from(damage.text)]);
  }
}
