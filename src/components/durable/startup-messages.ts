import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { Damages } from '../../state/damages.ts';
import { nameOfPart, namePart } from '../../state/keys.ts';
import { retryOnConflict } from '../../state/retry-on-conflict.ts';
import type { Put, StateStore } from '../../state/store.ts';
import type { Timer } from '../../util/clock.ts';
import { Expected } from '../../util/expected.ts';
import type { ComponentContext } from '../component.ts';
import { STARTUP_LIMITS, StartupPeriod } from '../startup-period.ts';
import type { TopicPatterns } from '../topic-patterns.ts';
import type { ConsumerGroups } from './consumer-groups.ts';
import { MAX_TRIES } from './ended-groups.ts';
import type { GroupName } from './group-record.ts';
import { Layout } from './layout.ts';

/** The most entries, and about the most bytes, that one commit writes or deletes. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** The dependencies of {@link StartupMessages}. */
export interface StartupMessagesDeps {
  readonly component: string;
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: Layout;
  readonly groups: ConsumerGroups;
  readonly patterns: TopicPatterns;
  readonly context: ComponentContext;
}

/** Topics of kept messages, by key. */
type Kept = ReadonlyMap<string, string>;

/**
 * Messages published before the subscriptions of some applications are known. They are stored, and new groups of these
 * applications begin with them. Messages left behind by a process that was stopped or killed meanwhile are kept for the
 * first two minutes of the next one.
 */
export class StartupMessages {
  readonly #deps: StartupMessagesDeps;
  readonly #period: StartupPeriod;
  readonly #damages: Damages;
  #kept = new Map<string, string>();
  #dropping: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(deps: StartupMessagesDeps) {
    this.#deps = deps;
    this.#damages = new Damages(deps.context.logger, 'a stored message cannot be read: the group does not get it');
    const expected = deps.context.subscriber?.among ?? new Expected();
    this.#period = new StartupPeriod({ pubsubName: deps.component, expected, onEnd: () => this.#dropOwn() });
  }

  /** Whether published messages are kept. */
  get isOpen(): boolean {
    return this.#period.isOpen;
  }

  /** Where to keep a message, besides its existing groups; `undefined` when there is no room for more. */
  keep(topic: string, number: number, bytes: number): string | undefined {
    const { context, layout, groups } = this.#deps;
    if (!this.#period.takes(bytes, context)) return undefined;
    const at = Math.floor(context.clock.now());
    const key = layout.kept({ topic: namePart(topic), number, groups: groups.count, at });
    this.#kept.set(key, topic);
    return key;
  }

  /** A publish failed, or its result is unknown. */
  notKept(key: string): void {
    this.#kept.delete(key);
  }

  /** Checks at the start for messages of an earlier process, and removes them once no group can need them. */
  async inherit(): Promise<void> {
    const { store, layout, context } = this.#deps;
    const now = context.clock.now();
    const [first] = await store.scan({ ...layout.allKept(), limit: 1 });
    if (first !== undefined && !this.#isClosed)
      this.#timer = context.clock.setTimeout(() => this.#dropInherited(now), STARTUP_LIMITS.ms);
  }

  /** Gives a new group the messages published before it, in order of publication, before any message is handed out. */
  fill(name: GroupName): Promise<void> {
    return retryOnConflict(MAX_TRIES, () => this.#fill(name));
  }

  async #fill(name: GroupName): Promise<void> {
    const { groups, store, layout, patterns } = this.#deps;
    const unfilled = await groups.unfilled(name);
    if (unfilled === undefined) return;
    const { entry, filled } = unfilled;
    const isPattern = patterns.isPattern(name.topic);
    const kept = this.#damages.intact(await store.scan(isPattern ? layout.allKept() : layout.keptOfTopic(name.topic)));
    const isFor = (topic: string): boolean => !isPattern || patterns.matches(name.topic, nameOfPart(topic));
    const missed = kept
      .map(({ key, value }) => ({ ...Layout.keptOf(key), key, value }))
      .filter(({ topic, groups: count }) => count <= unfilled.number && isFor(topic));
    const queue = layout.queue(name.topic, name.group);
    const puts = missed.map(({ key, value }) => ({ key: queue.ready(Layout.keptOf(key).number), value }));
    // The last commit marks the group as filled. No host reads from it before, so writing messages twice is harmless.
    for (const put of portions([...puts, filled])) await store.commit({ require: [entry], put });
  }

  /** Resolves once nothing is being removed. */
  dropped(): Promise<void> {
    return this.#dropping;
  }

  /** The component is no longer in use. Kept messages stay for the next start. */
  close(): void {
    this.#isClosed = true;
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
      // Publishes in flight may still write kept messages, and other hosts may have added groups.
      await commits.flushed();
      await groups.read();
      const found = await find();
      this.#reportUndeliverable(found);
      const keys = [...found.keys()];
      for (let from = 0; from < keys.length; from += MAX_ENTRIES)
        await store.commit({ delete: keys.slice(from, from + MAX_ENTRIES) });
    } catch (error) {
      context.logger.error(
        { error },
        'messages of the startup period could not be removed: the next start removes them',
      );
    }
  }

  /** Reports messages on topics without groups as undeliverable. */
  #reportUndeliverable(kept: Kept): void {
    const { groups, patterns, context } = this.#deps;
    const haveGroups = groups.topicParts();
    for (const [key, topic] of kept)
      if (!haveGroups.has(Layout.keptOf(key).topic) && patterns.of(topic).length === 0) context.noGroup?.(topic, 1);
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
