import type { CommitBatcher } from '../../kernel/commit-batcher.ts';
import { isDamage } from '../../state/damages.ts';
import { keyAfter } from '../../state/keys.ts';
import { isCutOff, type PageSize } from '../../state/page.ts';
import type { KeyedEntry, StateStore } from '../../state/store.ts';
import { decodeJob, decodePointer } from './codec.ts';
import type { JobLayout } from './layout.ts';

const PAGE: PageSize = { limit: 1_000, maxBytes: 4 * 1024 * 1024 };

/** Where the jobs are. */
export interface LostJobDeps {
  readonly store: StateStore;
  readonly commits: CommitBatcher;
  readonly layout: JobLayout;
}

/**
 * Removes a job whose pointer is damaged or leads to no entry. Its entry, which would go on running, can only be found
 * by a search of all. Returns the key of what was removed.
 */
export async function removeLost(name: string, deps: LostJobDeps): Promise<{ readonly key: string } | undefined> {
  const { store, commits, layout } = deps;
  const pointerKey = layout.job(name);
  const pointer = await store.get(pointerKey);
  if (pointer === undefined) return undefined;
  const dues = await entriesOf(name, deps);
  const dataIds = [
    readable(() => decodePointer(pointerKey, pointer.value))?.dataId,
    ...dues.map(({ key, value }) => readable(() => decodeJob(key, value))?.dataId),
  ];
  const data = [...new Set(dataIds)].flatMap((id) => (id === undefined ? [] : [layout.data(id)]));
  const require = [
    { key: pointerKey, version: pointer.version },
    ...dues.map(({ key, version }) => ({ key, version })),
  ];
  await commits.commit({ require, delete: [...require.map(({ key }) => key), ...data] });
  return { key: dues[0]?.key ?? pointerKey };
}

async function entriesOf(name: string, { store, layout }: LostJobDeps): Promise<readonly KeyedEntry[]> {
  const { from: first, to } = layout.dueRange;
  const inKeys = layout.nameOf(layout.job(name));
  const entries: KeyedEntry[] = [];
  for (let from = first; ; ) {
    const found = await store.scan({ from, to, ...PAGE });
    entries.push(...found.filter(({ key }) => layout.nameOf(key) === inKeys));
    const last = found.at(-1);
    if (last === undefined || !isCutOff(found, PAGE)) return entries;
    from = keyAfter(last.key);
  }
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}
