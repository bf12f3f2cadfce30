const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** The partition of a key, before the remainder by their number: that of Dapr, so that one order holds for both. */
export function partitionOf(key: Uint8Array): number {
  let hash = FNV_OFFSET;
  for (const byte of key) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return Math.abs(hash | 0);
}

/** A member of a group, as the driver tells it. */
interface Member {
  readonly topics?: readonly string[];
}

/** The partitions of a member, by topic, as the driver wants them. */
interface Share {
  readonly memberId: string;
  readonly assignments: Map<string, { readonly topic: string; readonly partitions: number[] }>;
}

/**
 * Divides the partitions of each topic among the members that consume it, in ranges: what members of other programs
 * call `range`. The members of a group may consume different topics.
 */
export function assignRanges(
  _leader: string,
  members: ReadonlyMap<string, Member>,
  _topics: ReadonlySet<string>,
  metadata: { readonly topics: ReadonlyMap<string, { readonly partitionsCount: number }> },
): readonly Share[] {
  const shares = new Map<string, Share>();
  for (const memberId of [...members.keys()].sort()) shares.set(memberId, { memberId, assignments: new Map() });
  for (const [topic, { partitionsCount }] of metadata.topics) {
    const takers = [...shares.values()].filter(({ memberId }) => members.get(memberId)?.topics?.includes(topic));
    for (let partition = 0; partition < partitionsCount; partition++) {
      const { assignments } = takers[Math.floor((partition * takers.length) / partitionsCount)] ?? {};
      const assignment = assignments?.get(topic);
      if (assignment === undefined) assignments?.set(topic, { topic, partitions: [partition] });
      else assignment.partitions.push(partition);
    }
  }
  return [...shares.values()];
}
