import assert from 'node:assert/strict';
import fc from 'fast-check';
import { countEntries } from '../../src/state/count-entries.ts';
import { isConflictError } from '../../src/state/errors.ts';
import { compareKeys } from '../../src/state/keys.ts';
import type { Batch, KeyedEntry, Precondition, Scan, StateStore } from '../../src/state/store.ts';

/*
 * A state store beside the simplest thing that could be right: an array, sorted anew for every scan. Random steps
 * go to both; what they answer has to be the same.
 */

/** Few keys, so that steps meet; of the kinds that are easily put in the wrong order. */
const KEYS = ['\0', 'a', 'a\0', 'aa', 'b', '__proto__', 'é', '\ue000', '\uffff', '😀', '😀a', '\u{10ffff}'];
const key = fc.constantFrom(...KEYS);
const value = fc.uint8Array({ maxLength: 20 });

/** A precondition on what the model holds when the step runs: it should hold, or should not. */
interface Requirement {
  readonly key: string;
  readonly shouldHold: boolean;
}

interface CommitStep {
  readonly require: readonly Requirement[];
  readonly put: readonly { readonly key: string; readonly value: Uint8Array }[];
  readonly delete: readonly string[];
}

type Step =
  | { readonly commits: readonly CommitStep[] }
  | { readonly scan: Scan }
  | { readonly count: Scan }
  | { readonly get: string };

const commitStep: fc.Arbitrary<CommitStep> = fc
  .record({
    require: fc.uniqueArray(fc.record({ key, shouldHold: fc.integer({ min: 0, max: 4 }).map((n) => n > 0) }), {
      selector: (requirement) => requirement.key,
      maxLength: 2,
    }),
    put: fc.uniqueArray(fc.record({ key, value }), { selector: (put) => put.key, maxLength: 4 }),
    delete: fc.uniqueArray(key, { maxLength: 2 }),
  })
  .map((step) => ({ ...step, delete: step.delete.filter((deleted) => step.put.every((put) => put.key !== deleted)) }));

const scan: fc.Arbitrary<Scan> = fc.record(
  {
    from: fc.constantFrom('', ...KEYS),
    to: key,
    limit: fc.nat(6),
    maxBytes: fc.nat(60),
    reverse: fc.boolean(),
  },
  { requiredKeys: ['from'] },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ commits: fc.array(commitStep, { minLength: 1, maxLength: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ scan }) },
  { weight: 1, arbitrary: fc.record({ count: scan }) },
  { weight: 1, arbitrary: fc.record({ get: key }) },
);

/** Makes the precondition that holds, or one that does not, in a state of the model. */
function preconditionOf(model: Model, { key, shouldHold }: Requirement): Precondition {
  const present = model.entries.get(key)?.version ?? 'absent';
  return { key, version: shouldHold ? present : present === 'absent' ? 1 : 'absent' };
}

class Model {
  readonly entries = new Map<string, KeyedEntry>();

  apply(batch: Batch, version: number): void {
    for (const { key, value } of batch.put ?? []) this.entries.set(key, { key, value: new Uint8Array(value), version });
    for (const key of batch.delete ?? []) this.entries.delete(key);
  }

  scan({ from, to, limit, maxBytes, reverse }: Scan): readonly KeyedEntry[] {
    const inRange = [...this.entries.values()]
      .filter((entry) => compareKeys(entry.key, from) >= 0 && (to === undefined || compareKeys(entry.key, to) < 0))
      .sort((a, b) => compareKeys(a.key, b.key) * (reverse ? -1 : 1))
      .slice(0, limit);
    let bytes = 0;
    const end = inRange.findIndex((entry) => {
      bytes += entry.value.byteLength;
      return bytes >= (maxBytes ?? Number.POSITIVE_INFINITY);
    });
    return end < 0 ? inRange : inRange.slice(0, end + 1);
  }
}

/**
 * Commits made together: their preconditions are of the state before them all, so some conflict with each other.
 * The model follows with those that succeeded, in order: the store must have refused exactly the others.
 */
async function commitTogether(store: StateStore, model: Model, steps: readonly CommitStep[]): Promise<void> {
  const batches: Batch[] = steps.map((step) => ({
    ...step,
    require: step.require.map((r) => preconditionOf(model, r)),
  }));
  const outcomes = await Promise.allSettled(batches.map((batch) => store.commit(batch)));
  for (const [index, batch] of batches.entries()) {
    const outcome = outcomes[index];
    const broken = batch.require?.find(({ key, version }) => (model.entries.get(key)?.version ?? 'absent') !== version);
    if (outcome?.status === 'fulfilled') {
      assert.equal(broken, undefined, 'a commit succeeded although a precondition did not hold');
      model.apply(batch, outcome.value);
    } else {
      assert.ok(isConflictError(outcome?.reason), `a conflict was expected, not ${String(outcome?.reason)}`);
      assert.equal(outcome?.reason.key, broken?.key);
    }
  }
}

async function runStep(store: StateStore, model: Model, step: Step): Promise<void> {
  if ('commits' in step) await commitTogether(store, model, step.commits);
  else if ('scan' in step) assert.deepEqual(await store.scan(step.scan), model.scan(step.scan));
  else if ('count' in step) {
    const { from, to, limit = 100 } = step.count;
    const range = { from, ...(to === undefined ? {} : { to }) };
    assert.equal(await countEntries(store, range, limit), model.scan({ ...range, limit }).length);
  } else if ('get' in step) {
    const expected = model.entries.get(step.get);
    assert.deepEqual(await store.get(step.get), expected && { value: expected.value, version: expected.version });
  }
}

/** Runs random histories against a store. `open` opens it empty for every run. */
export async function compareWithModel(open: () => Promise<StateStore>, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      await using store = await open();
      const model = new Model();
      for (const step of steps) await runStep(store, model, step);
      assert.deepEqual(await store.scan({ from: '' }), model.scan({ from: '' }));
    }),
    { numRuns },
  );
}
