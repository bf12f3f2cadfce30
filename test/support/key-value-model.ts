import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { KeyValueOperation, KeyValueStore, StoredValue, WriteOutcome } from '../../src/components/key-value.ts';

/*
 * A key-value store beside a map. Random steps go to both; what they answer has to be the same.
 */

/** A store for one history. */
export interface ModelledStore {
  /** Opens it: empty at first, then what the last one has left. */
  readonly open: () => Promise<KeyValueStore>;
  /** What all keys of the history begin with. */
  readonly root: string;
  readonly now: () => number;
  readonly pass: (ms: number) => Promise<void>;
  /** How exactly values expire: the whole seconds of a table, the clock of a server. */
  readonly exactMs: number;
}

const KEYS = [
  ...[
    'p||a',
    'p||a ',
    'p||a!',
    'p||a"',
    'p||a%',
    'p||a_',
    "p||a'",
    'p||a\\',
    'p||b',
    'p||ä',
    'p||\uffff',
    'p||😀',
    'p|||',
  ],
  ...['P||a', 'p', 'p|', 'pp||a', 'q||__proto__', '__proto__', '\u{10ffff}'],
];
const PREFIXES = ['', 'p', 'p|', 'p||', 'p||a', 'P', 'q||', '__', 'r', '\u{10ffff}', 'p||\uffff'];
const SHORT_MS = 4_000;
const LONG_MS = 3_600_000;
/** An ETag that may be asked for: how many writes ago it was given; one that never was. */
const IMPOSSIBLE = ['', 'x', '0', '-1', '1.5', '99999999999999999999', "'; --", '\u{10ffff}'];

const key = fc.constantFrom(...KEYS);
const condition = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 2, arbitrary: fc.constant('absent' as const) },
  { weight: 3, arbitrary: fc.record({ writesAgo: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ impossible: fc.constantFrom(...IMPOSSIBLE) }) },
);
const content = fc.oneof(
  fc.constantFrom('null', '0', '"ä😀"', '{"a":[1,{}],"__proto__":null}', '1.5').map((text) => ({ text })),
  fc.uint8Array({ maxLength: 8 }).map((binary) => ({ binary })),
);
const change = fc.record({
  key,
  condition,
  content: fc.oneof({ weight: 2, arbitrary: content }, { weight: 1, arbitrary: fc.constant(undefined) }),
  ttlMs: fc.constantFrom(undefined, undefined, SHORT_MS, LONG_MS),
});
const step = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      changes: fc.uniqueArray(change, { selector: (one) => one.key, minLength: 1, maxLength: 5 }),
      atomic: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ read: fc.array(key, { maxLength: 6 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      prefix: fc.constantFrom(...PREFIXES),
      after: fc.option(key, { nil: undefined }),
      limit: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ passMs: SHORT_MS }) },
  { weight: 1, arbitrary: fc.constant({ reopens: true }) },
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A value, and the time in which it expires. */
interface Kept {
  readonly content: NonNullable<Change['content']>;
  readonly etag: string;
  readonly earliest: number;
  readonly latest: number;
}

/** What a step did not end early enough to tell. */
class TooSlow extends Error {}

class Comparison {
  readonly #under: ModelledStore;
  readonly #kept = new Map<string, Kept>();
  /** All that each key had, the last one first. */
  readonly #etags = new Map<string, string[]>();
  #store: KeyValueStore;

  constructor(under: ModelledStore, store: KeyValueStore) {
    this.#under = under;
    this.#store = store;
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const one of steps) {
      await this.#settle();
      await this.#step(one);
    }
    await this.#settle();
    await this.#read(KEYS.map((name) => this.#under.root + name));
    if (this.#store.list !== undefined) await this.#listAll();
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async #step(one: Step): Promise<void> {
    const { root, pass, open } = this.#under;
    if ('changes' in one) await this.#write(one.changes, one.atomic);
    else if ('read' in one) await this.#read(one.read.map((name) => root + name));
    else if ('prefix' in one) await this.#list(root + one.prefix, one.after && root + one.after, one.limit);
    else if ('passMs' in one) await pass(one.passMs);
    else {
      await this.#store.close();
      this.#store = await open();
    }
  }

  /** Lets the time pass in which nobody can say whether a value still exists. */
  async #settle(): Promise<void> {
    const { now, pass, exactMs } = this.#under;
    for (const [name, { earliest, latest }] of this.#kept) {
      if (earliest > now() + exactMs) continue;
      if (latest > now()) await pass(latest - now());
      this.#kept.delete(name);
    }
  }

  /** What the model says of a key. @throws TooSlow if it cannot */
  #get(name: string): Kept | undefined {
    const kept = this.#kept.get(name);
    if (kept !== undefined && kept.earliest <= this.#under.now()) throw new TooSlow();
    return kept;
  }

  #operationOf({ key, condition, content, ttlMs }: Change): KeyValueOperation {
    const name = this.#under.root + key;
    const given = this.#conditionOf(name, condition);
    const common = { key: name, ...(given !== undefined && { condition: given }) };
    if (content === undefined) return { kind: 'remove', ...common };
    const value = 'text' in content ? { value: Buffer.from(content.text) } : { value: content.binary, isBinary: true };
    return { kind: 'put', ...common, ...value, ...(ttlMs !== undefined && { ttlMs }) };
  }

  #conditionOf(name: string, condition: Change['condition']): KeyValueOperation['condition'] {
    if (condition === undefined || condition === 'absent') return condition;
    if ('impossible' in condition) return { etag: condition.impossible };
    return { etag: this.#etags.get(name)?.[condition.writesAgo] ?? 'never-given' };
  }

  #holds({ key: name, condition }: KeyValueOperation): boolean {
    if (condition === undefined) return true;
    const kept = this.#get(name);
    return condition === 'absent' ? kept === undefined : kept?.etag === condition.etag;
  }

  async #write(changes: readonly Change[], atomic: boolean): Promise<void> {
    const operations = changes.map((one) => this.#operationOf(one));
    const before = this.#under.now();
    const outcomes = await this.#store.write(operations, { atomic });
    const holding = operations.map((one) => this.#holds(one));
    assert.equal(outcomes.length, operations.length);
    if (atomic && holding.includes(false)) {
      assert.ok(outcomes.some(({ status }) => status === 'refused'));
      for (const [index, { status }] of outcomes.entries())
        assert.ok(status === 'skipped' || (status === 'refused' && holding[index] === false), status);
      return;
    }
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      holding.map((holds) => (holds ? 'done' : 'refused')),
    );
    for (const [index, outcome] of outcomes.entries()) {
      const one = changes[index];
      if (one !== undefined && outcome.status === 'done') await this.#follow(one, outcome, before);
    }
  }

  async #follow({ key, content, ttlMs }: Change, outcome: WriteOutcome, before: number): Promise<void> {
    const name = this.#under.root + key;
    if (content === undefined) {
      this.#kept.delete(name);
      return;
    }
    const { now, exactMs } = this.#under;
    const told = outcome.status === 'done' ? outcome.etag : undefined;
    const etag = told ?? (await this.#store.read([name]))[0]?.etag;
    assert.ok(etag !== undefined, 'a put gave no ETag');
    const given = this.#etags.get(name) ?? [];
    assert.ok(!given.includes(etag), `the ETag ${etag} was used twice`);
    this.#etags.set(name, [etag, ...given]);
    const ttl = ttlMs ?? Number.POSITIVE_INFINITY;
    this.#kept.set(name, { content, etag, earliest: before + ttl - exactMs, latest: now() + ttl + exactMs });
  }

  #compare(name: string, found: StoredValue | undefined): void {
    const kept = this.#get(name);
    if (kept === undefined || found === undefined) {
      assert.deepEqual(found, kept, name);
      return;
    }
    assert.equal(found.etag, kept.etag);
    const { content, earliest, latest } = kept;
    if ('text' in content) assert.deepEqual(JSON.parse(Buffer.from(found.bytes).toString()), JSON.parse(content.text));
    else assert.deepEqual(Buffer.from(found.bytes), Buffer.from(content.binary));
    const expiresAt = found.expiresAt ?? Number.POSITIVE_INFINITY;
    assert.ok(expiresAt >= earliest && expiresAt <= latest, `${expiresAt} is not within ${earliest} and ${latest}`);
  }

  async #read(names: readonly string[]): Promise<void> {
    const found = await this.#store.read(names);
    assert.equal(found.length, names.length);
    for (const [index, name] of names.entries()) this.#compare(name, found[index]);
  }

  #keysOf(prefix: string, after?: string): readonly string[] {
    const from = after === undefined ? undefined : Buffer.from(after);
    return [...this.#kept.keys()]
      .filter((name) => name.startsWith(prefix) && (from === undefined || Buffer.compare(Buffer.from(name), from) > 0))
      .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  }

  async #list(prefix: string, after: string | undefined, limit: number): Promise<string | undefined> {
    const found = await this.#store.list?.(prefix, { limit, ...(after !== undefined && { after }) });
    if (found === undefined) return undefined;
    const expected = this.#keysOf(prefix, after);
    assert.deepEqual(
      found.map((one) => one.key),
      expected.slice(0, found.length),
    );
    assert.ok(found.length <= limit && (found.length > 0 || expected.length === 0), `${found.length} values`);
    for (const { key: name, ...value } of found) this.#compare(name, value);
    return found.at(-1)?.key;
  }

  async #listAll(): Promise<void> {
    let after: string | undefined;
    let count = 0;
    do {
      after = await this.#list(this.#under.root, after, 3);
      if (after !== undefined) count = this.#keysOf(this.#under.root).indexOf(after) + 1;
    } while (after !== undefined);
    assert.equal(count, this.#kept.size);
  }
}

/** Runs random histories against stores. `make` makes one for every history. */
export async function compareKeyValues(make: () => ModelledStore, options: fc.Parameters<[Step[]]>): Promise<void> {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const under = make();
    const comparison = new Comparison(under, await under.open());
    try {
      await comparison.run(steps);
    } catch (error) {
      // The machine stood still: nothing is known.
      fc.pre(!(error instanceof TooSlow));
      throw error;
    } finally {
      await comparison.close();
    }
  });
  await fc.assert(property, options);
}
