import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { place } from '../hostile.ts';
import { TallyLogger } from '../log-tally.ts';
import { type Session, type Target, tryPortion } from '../portion.ts';
import { withDeadline } from '../with-deadline.ts';
import { Examination, fill, sidecarOn } from './sample.ts';

const RUNS = 8;
const MAX_AT_ONCE = 2;
const PAGE_BYTES = 4_096;
/** With all that an examination waits for. */
const EXAMINATION_MS = 30_000;

/** What is done to a file. */
type FileDamage =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'swap'; readonly at: number; readonly with: number }
  | { readonly kind: 'zeros'; readonly at: number; readonly pages: number }
  | { readonly kind: 'gone' }
  | { readonly kind: 'other'; readonly text: string };

interface Case {
  /** Whether the process had ended in order, or was killed: then there is a log beside the database. */
  readonly from: 'stopped' | 'killed';
  readonly file: 'state.db' | 'state.db-wal';
  readonly damages: readonly FileDamage[];
}

const damage: fc.Arbitrary<FileDamage> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('flip' as const), at: place, bit: fc.nat({ max: 7 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: place }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('swap' as const), at: place, with: place }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('zeros' as const), at: place, pages: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'gone' as const }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('', 'SQLite format 3\0', 'no database')
      .map((text) => ({ kind: 'other' as const, text })),
  },
);

/** Directories of the embedded store with damaged files. */
export const files: Target = {
  name: 'files',
  open: async () => {
    const root = mkdtempSync(join(tmpdir(), 'insidecar-fuzz-files-'));
    await makeSamples(root);
    const silent = new Map<string, number>();
    let count = 0;
    const cases = fc.record({
      from: fc.constantFrom('stopped' as const, 'killed' as const),
      file: fc.oneof(
        { weight: 3, arbitrary: fc.constant('state.db' as const) },
        { weight: 1, arbitrary: fc.constant('state.db-wal' as const) },
      ),
      damages: fc.array(damage, { minLength: 1, maxLength: 3 }),
    });
    const attempt = async (group: readonly Case[]): Promise<void> => {
      await Promise.all(
        group.map(async (one) => {
          const lost = await tryCase(root, join(root, `case-${count++}`), one);
          const [{ kind } = { kind: 'none' }] = one.damages;
          if (lost) silent.set(`${one.file} ${kind}`, (silent.get(`${one.file} ${kind}`) ?? 0) + 1);
        }),
      );
    };
    const session: Session = {
      try: async (seed) => {
        const before = count;
        await tryPortion(fc.array(cases, { minLength: 1, maxLength: MAX_AT_ONCE }), attempt, { seed, numRuns: RUNS });
        return count - before;
      },
      notes: () => [...silent].map(([what, times]) => `lost what SQLite does not notice: ${what}, ${times} times`),
      [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true, force: true }),
    };
    return session;
  },
};

/** A directory as a stop leaves it, and one as a kill does: with everything acknowledged, most of it in the log. */
async function makeSamples(root: string): Promise<void> {
  const path = join(root, 'alive');
  const sidecar = sidecarOn(embeddedState({ path }), new TallyLogger());
  await sidecar.start();
  await fill(sidecar);
  cpSync(path, join(root, 'killed'), { recursive: true });
  await sidecar.stop();
  cpSync(path, join(root, 'stopped'), { recursive: true });
}

/** Answers whether something was lost that the database engine cannot know of. */
async function tryCase(root: string, path: string, { from, file, damages }: Case): Promise<boolean> {
  mkdirSync(path);
  try {
    cpSync(join(root, from), path, { recursive: true });
    const isThere = damages.map((one) => change(join(path, file), one)).some(Boolean);
    const logger = new TallyLogger();
    const examination = new Examination(embeddedState({ path }), logger);
    const { missing, told } = await withDeadline(EXAMINATION_MS, 'the end of an examination', () => examination.run());
    const foreign = told.find(
      (line) => /TypeError|ReferenceError|SyntaxError|is not a function/.test(line) && !line.includes('damaged ('),
    );
    if (foreign !== undefined) throw new Error(`the error is no explanation: ${foreign}`);
    return isThere && missing.length > 0 && told.length + logger.tally.size === 0;
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

/** Answers whether there was such a file. */
function change(file: string, one: FileDamage): boolean {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return false;
  }
  if (one.kind === 'gone') rmSync(file);
  else if (one.kind === 'cut') truncateSync(file, Math.floor(one.at * bytes.length));
  else writeFileSync(file, one.kind === 'other' ? one.text : changed(bytes, one));
  return true;
}

function changed(bytes: Buffer, one: Extract<FileDamage, { readonly at: number }>): Buffer {
  const pages = Math.max(1, Math.floor(bytes.length / PAGE_BYTES));
  const pageAt = (at: number): number => Math.floor(at * pages) * PAGE_BYTES;
  if (bytes.length === 0) return bytes;
  if (one.kind === 'flip') {
    const at = Math.floor(one.at * bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << one.bit);
  } else if (one.kind === 'zeros') bytes.subarray(pageAt(one.at), pageAt(one.at) + one.pages * PAGE_BYTES).fill(0);
  else if (one.kind === 'swap') {
    const [first, second] = [pageAt(one.at), pageAt(one.with)];
    const kept = Buffer.from(bytes.subarray(first, first + PAGE_BYTES));
    bytes.copy(bytes, first, second, second + PAGE_BYTES);
    kept.copy(bytes, second);
  }
  return bytes;
}
