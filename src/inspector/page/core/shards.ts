/** `0–3, 7, 9–12`: shards in order, in short. */
export function rangesOf(shards: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const shard of shards) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === shard - 1) last[1] = shard;
    else ranges.push([shard, shard]);
  }
  return ranges.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(', ');
}

interface Owner {
  readonly appId: string;
  readonly namespace: string;
  readonly shards: readonly number[];
}

/** The shards of each application that none of its hosts owns; applications without such are left out. */
export function shardsWithoutHost(hosts: readonly Owner[], shardCount: number): [appId: string, shards: number[]][] {
  const owned = new Map<string, Set<number>>();
  for (const { appId, namespace, shards } of hosts) {
    const name = namespace === 'default' ? appId : `${namespace}/${appId}`;
    owned.set(name, new Set([...(owned.get(name) ?? []), ...shards]));
  }
  const all = Array.from({ length: shardCount }, (_, shard) => shard);
  return [...owned]
    .map(([name, shards]): [string, number[]] => [name, all.filter((shard) => !shards.has(shard))])
    .filter(([, missing]) => missing.length > 0);
}
