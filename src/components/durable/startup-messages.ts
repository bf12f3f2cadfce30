import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isConflict } from '../../state/errors.ts';
import { nameOfPart, namePart } from '../../state/keys.ts';
import type { Put, StateStore } from '../../state/store.ts';
import type { Timer } from '../../util/clock.ts';
import { Expected } from '../../util/expected.ts';
import type { ComponentContext } from '../component.ts';
import { STARTUP_LIMITS, StartupPeriod } from '../startup-period.ts';
import type { ConsumerGroups, GroupName } from './consumer-groups.ts';
import { Layout } from './layout.ts';

/** The most entries that one commit writes or deletes, and about the most bytes. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** What the messages of the startup period are kept with. */
export interface StartupMessagesDeps {
  readonly component: string;
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: Layout;
  readonly groups: ConsumerGroups;
  readonly context: ComponentContext;
}

/** Topics of messages that are kept, by where they are. */
type Kept = ReadonlyMap<string, string>;

/**
 * What was published while the subscriptions of some applications were not known, on disk like everything else: new
 * groups of these applications begin with it. What a process leaves behind that was stopped or killed meanwhile is kept
 * on, for two minutes of the next one.
 */
export class StartupMessages {
  readonly #deps: StartupMessagesDeps;
  readonly #period: StartupPeriod;
  #kept = new Map<string, string>();
  #dropping: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;

  constructor(deps: StartupMessagesDeps) {
    this.#deps = deps;
    const expected = deps.context.subscriber?.among ?? new Expected();
    this.#period = new StartupPeriod({ pubsubName: deps.component, expected, onEnd: () => this.#dropOwn() });
  }

  /** Whether what is published is kept. */
  get isOpen(): boolean {
    return this.#period.isOpen;
  }

  /** Where to keep a message, beside the groups that there are; `undefined` when there is no room for more. */
  keep(topic: string, number: number, bytes: number): string | undefined {
    const { context, layout, groups } = this.#deps;
    if (!this.#period.takes(bytes, context)) return undefined;
    const at = Math.floor(context.clock.now());
    const key = layout.kept({ topic: namePart(topic), number, groups: groups.count, at });
    this.#kept.set(key, topic);
    return key;
  }

  /** The store has not taken it, or nothing certain. */
  notKept(key: string): void {
    this.#kept.delete(key);
  }

  /** Looks at what is there at the start: after the time for which anybody keeps anything, it is nobody's. */
  async inherit(): Promise<void> {
    const { store, layout, context } = this.#deps;
    const now = context.clock.now();
    const [first] = await store.scan({ ...layout.allKept(), limit: 1 });
    if (first !== undefined) this.#timer = context.clock.setTimeout(() => this.#dropInherited(now), STARTUP_LIMITS.ms);
  }

  /** Gives a new group what was published before it: in the order of publication, and before anything is handed out. */
  async fill(name: GroupName): Promise<void> {
    const { groups, store, layout } = this.#deps;
    for (;;) {
      const unfilled = await groups.unfilled(name);
      if (unfilled === undefined) return;
      const { entry, filled } = unfilled;
      const kept = await store.scan(layout.keptOfTopic(name.topic));
      const missed = kept.filter(({ key }) => Layout.keptOf(key).groups <= unfilled.number);
      const queue = layout.queue(name.topic, name.group);
      const puts = missed.map(({ key, value }) => ({ key: queue.ready(Layout.keptOf(key).number), value }));
      try {
        // The last one says that it is filled. Until then nobody has taken any: writing them twice changes nothing.
        for (const put of portions([...puts, filled])) await store.commit({ require: [entry], put });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }

  /** Resolves once nothing is being removed. */
  dropped(): Promise<void> {
    return this.#dropping;
  }

  /** The component is used no longer: what is kept stays for the next start. */
  close(): void {
    this.#period.close();
    this.#timer?.cancel();
  }

  #dropOwn(): void {
    const kept = this.#kept;
    this.#kept = new Map();
    if (kept.size > 0) this.#drop(() => Promise.resolve(kept));
  }

  #dropInherited(before: number): void {
    const { store, layout } = this.#deps;
    this.#drop(async () => {
      const kept = await store.scan(layout.allKept());
      const inherited = kept.map(({ key }) => ({ key, ...Layout.keptOf(key) })).filter(({ at }) => at <= before);
      return new Map(inherited.map(({ key, topic }) => [key, nameOfPart(topic)]));
    });
  }

  #drop(find: () => Promise<Kept>): void {
    const done = this.#deps.context.track('removing messages of the startup period');
    this.#dropping = this.#dropping.then(() => this.#dropFound(find)).finally(done);
  }

  async #dropFound(find: () => Promise<Kept>): Promise<void> {
    const { store, commits, groups, context } = this.#deps;
    try {
      // Publishes under way write some of them yet, and others may have added groups.
      await commits.flushed();
      await groups.read();
      const found = await find();
      this.#tellOfNobody(found);
      const keys = [...found.keys()];
      for (let from = 0; from < keys.length; from += MAX_ENTRIES)
        await store.commit({ delete: keys.slice(from, from + MAX_ENTRIES) });
    } catch (error) {
      context.logger.error({ error }, 'messages of the startup period could not be removed: the next start does');
    }
  }

  /** Those of topics without groups are gone. */
  #tellOfNobody(kept: Kept): void {
    const { groups, context } = this.#deps;
    const haveGroups = groups.topicParts();
    for (const [key, topic] of kept) if (!haveGroups.has(Layout.keptOf(key).topic)) context.noGroup?.(topic, 1);
  }
}

function* portions(puts: readonly Put[]): Generator<readonly Put[]> {
  let portion: Put[] = [];
  let bytes = 0;
  for (const put of puts) {
    if (portion.length >= MAX_ENTRIES || (bytes > 0 && bytes + put.value.length > MAX_BYTES)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(put);
    bytes += put.value.length;
  }
  yield portion;
}
