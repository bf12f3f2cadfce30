import {
  counterOf,
  counterPart,
  instantOf,
  instantPart,
  isCounter,
  keyOf,
  namePart,
  partsOf,
  rangeOf,
  rangeOfPrefix,
} from '../../../state/keys.ts';
import type { KeyRange } from '../../../state/store.ts';

/** An attempt of an activity, in its key. */
export interface AttemptFields {
  readonly instanceId: string;
  readonly executionId: string;
  readonly sequence: number;
}

/**
 * The keys of an application's workflows, under `workflows / <app ID>`:
 *
 * - `instance / <ID>`: the record; its version guards every change of the instance. Turns that only add to the history
 *   do not write it: the last value of the history implies their changes to it
 * - `history / <ID> / <number>`: the events of a turn, and the number of events up to it
 * - `due / <instant> / <ID>`: when the instance is due; 0 for now. At most one entry for each instance
 * - `inbox / <ID> / <instant> / <number>`: a message for the instance; its owner adds it to the history
 * - `begun / <ID> / <number>`: how often the process has ended during an attempt of an activity, if this one counts
 * - `child / <parent ID> / <ID>`: the children of an instance
 * - `stand-in / <ID>`: the owner of the shard lacks code for the instance: another host runs it, or may
 * - `attempt / <ID> / <run> / <number>`: the host of the instance lacks the code of an activity: another host makes this
 *   attempt, or may. It goes with the turn that no longer waits for the attempt
 * - `attempt-input / <ID> / <run> / <number>`: the input of that activity, if it has one
 * - `limit / <activity> / <runs or rate>`: how a limit of runs is divided among hosts
 * - `receipt / <ID> / <key>`: another host's call for an instance has been done; it goes away when the caller knows
 */
export class WorkflowLayout {
  readonly instanceRange: Required<KeyRange>;
  readonly dueRange: Required<KeyRange>;
  readonly inboxRange: Required<KeyRange>;
  readonly receiptRange: Required<KeyRange>;
  readonly standInRange: Required<KeyRange>;
  /** The attempts that hosts offer. */
  readonly attemptRange: Required<KeyRange>;
  /** Prefix of all messages. */
  readonly inboxPrefix: string;
  /** Prefix of the limits of activities. */
  readonly limitPrefix: string;
  readonly #root: readonly [string, string];
  readonly #instance: string;
  readonly #history: string;
  readonly #due: string;
  readonly #begun: string;
  readonly #child: string;
  readonly #attemptInput: string;

  constructor(appId: string) {
    this.#root = ['workflows', namePart(appId)];
    this.#instance = keyOf(...this.#root, 'instance');
    this.#history = keyOf(...this.#root, 'history');
    this.#due = keyOf(...this.#root, 'due');
    this.#begun = keyOf(...this.#root, 'begun');
    this.#child = keyOf(...this.#root, 'child');
    this.inboxPrefix = keyOf(...this.#root, 'inbox');
    this.limitPrefix = keyOf(...this.#root, 'limit');
    this.instanceRange = this.#range('instance');
    this.dueRange = this.#range('due');
    this.inboxRange = this.#range('inbox');
    this.receiptRange = this.#range('receipt');
    this.standInRange = this.#range('stand-in');
    this.attemptRange = this.#range('attempt');
    this.#attemptInput = keyOf(...this.#root, 'attempt-input');
  }

  #range(...parts: readonly string[]): Required<KeyRange> {
    const { from, to = '' } = rangeOf(...this.#root, ...parts);
    return { from, to };
  }

  instance(id: string): string {
    return this.#instance + keyOf(id);
  }

  /** The instances whose IDs begin with a prefix, or of these, the children of one. */
  instancesOf(prefix: string, parentId: string | undefined): KeyRange {
    const parts = parentId === undefined ? ['instance'] : ['child', parentId];
    return rangeOfPrefix([...this.#root, ...parts], prefix);
  }

  history(id: string, number: number): string {
    return this.#history + keyOf(id, counterPart(number));
  }

  /** The number of a history value, from its key. */
  historyNumberOf(key: string): number {
    return counterOf(partsOf(key.slice(this.#history.length))[1] ?? '');
  }

  historyRange(id: string): Required<KeyRange> {
    return this.#range('history', id);
  }

  due(at: number, id: string): string {
    return this.#due + keyOf(instantPart(at), id);
  }

  /** The fields of a due key. */
  dueOf(key: string): { readonly at: number; readonly id: string } {
    const [instant = '', id = ''] = partsOf(key.slice(this.#due.length));
    return { at: instantOf(instant), id };
  }

  /** Messages sort by time. */
  inbox(id: string, at: number, unique: string): string {
    return this.inboxPrefix + keyOf(id, instantPart(at), unique);
  }

  /** The messages for an instance. */
  inboxRangeOf(id: string): Required<KeyRange> {
    return this.#range('inbox', id);
  }

  begun(id: string, sequence: number): string {
    return this.#begun + keyOf(id, counterPart(sequence));
  }

  /** The counted attempts of an instance's activities. */
  begunRange(id: string): Required<KeyRange> {
    return this.#range('begun', id);
  }

  /** The number of a counted attempt, from its key. */
  begunNumberOf(key: string): number {
    return counterOf(partsOf(key.slice(this.#begun.length))[1] ?? '');
  }

  child(parentId: string, id: string): string {
    return this.#child + keyOf(parentId, id);
  }

  childRange(parentId: string): Required<KeyRange> {
    return this.#range('child', parentId);
  }

  receipt(id: string, key: string): string {
    return this.receiptRange.from + keyOf(id, key);
  }

  standIn(id: string): string {
    return this.standInRange.from + keyOf(id);
  }

  /** The ID of an offered attempt: its key below those of all. */
  attemptId(instanceId: string, executionId: string, sequence: number): string {
    return keyOf(instanceId, executionId, counterPart(sequence));
  }

  /** The fields of an {@link WorkflowLayout.attemptId}; `undefined` if it is none. */
  attemptOf(id: string): AttemptFields | undefined {
    const [instanceId = '', executionId = '', number = ''] = partsOf(id);
    return isCounter(number) ? { instanceId, executionId, sequence: counterOf(number) } : undefined;
  }

  attempt(id: string): string {
    return this.attemptRange.from + id;
  }

  attemptInput(id: string): string {
    return this.#attemptInput + id;
  }

  /** The offered attempts of an instance. */
  attemptsOf(instanceId: string): Required<KeyRange> {
    return this.#range('attempt', instanceId);
  }

  /** The fields of a receipt's key. */
  receiptOf(entry: string): { readonly instanceId: string; readonly key: string } {
    const [instanceId = '', key = ''] = partsOf(entry.slice(this.receiptRange.from.length));
    return { instanceId, key };
  }

  /** The instance that a key of an instance, a message or a child is about. */
  instanceIdOf(key: string): string {
    const parts = partsOf(key);
    return (parts[2] === 'child' ? parts[4] : parts[3]) ?? '';
  }
}
