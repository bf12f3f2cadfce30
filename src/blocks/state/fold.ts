import type { KeyValueOperation } from '../../components/key-value.ts';
import { conditionOf, type StateChange } from './change.ts';

/** Makes the operation of a change. */
export type ToOperation = (change: StateChange) => KeyValueOperation;

/** The operations of a transaction, each key once; or the first change that cannot succeed. */
export type Folded =
  | { readonly operations: readonly KeyValueOperation[]; readonly changes: readonly StateChange[] }
  | { readonly refused: StateChange };

/**
 * Folds the changes of a transaction: of several on one key, the condition of the first is checked against the store,
 * those of the others against what the one before leaves. After a delete the key does not exist; after an upsert it has
 * an ETag that is not known yet.
 */
export function fold(changes: readonly StateChange[], toOperation: ToOperation): Folded {
  const first = new Map<string, StateChange>();
  const last = new Map<string, StateChange>();
  for (const change of changes) {
    const before = last.get(change.key);
    if (before === undefined) first.set(change.key, change);
    else {
      const isRefused = change.etag !== undefined || (change.isFirstWrite && before.kind === 'upsert');
      if (isRefused) return { refused: change };
    }
    last.set(change.key, change);
  }
  const firsts = [...first.values()];
  const operations = firsts.map((change) => {
    const effective = last.get(change.key) ?? change;
    if (effective === change) return toOperation(change);
    const condition = conditionOf(change);
    const { condition: _, ...rest } = toOperation(effective);
    return condition === undefined ? rest : { ...rest, condition };
  });
  return { operations, changes: firsts };
}

/**
 * Divides the changes of a save into rounds, in which each key is once. A change that is overwritten anyway by a later
 * one without a condition is left out, if nothing can refuse it.
 */
export function roundsOf(changes: readonly StateChange[]): readonly (readonly StateChange[])[] {
  const [only] = changes;
  if (changes.length === 1 && only !== undefined) return [changes];
  const rounds: StateChange[][] = [];
  const roundOf = new Map<string, number>();
  const overwritten = overwrittenOf(changes);
  for (const change of changes) {
    if (overwritten.has(change)) continue;
    const round = roundOf.get(change.key) ?? 0;
    roundOf.set(change.key, round + 1);
    const present = rounds[round];
    if (present === undefined) rounds.push([change]);
    else present.push(change);
  }
  return rounds;
}

function overwrittenOf(changes: readonly StateChange[]): ReadonlySet<StateChange> {
  const overwritten = new Set<StateChange>();
  const next = new Map<string, StateChange>();
  for (const change of [...changes].reverse()) {
    const later = next.get(change.key);
    const isPlain = conditionOf(change) === undefined;
    if (isPlain && later !== undefined && conditionOf(later) === undefined) overwritten.add(change);
    else next.set(change.key, change);
  }
  return overwritten;
}
