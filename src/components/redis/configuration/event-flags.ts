/** Keyspace events of generic commands, commands on strings, expiry and eviction. */
const NEEDED = 'Kg$xe';
/** `A` stands for all classes of events but misses and new keys. */
const IN_ALL = 'g$lshzxetd';

/** The flags that must be added to those of a server; empty if there are enough. */
export function addedFlags(present: string): string {
  const hasAll = present.includes('A');
  return [...NEEDED].filter((flag) => !present.includes(flag) && !(hasAll && IN_ALL.includes(flag))).join('');
}
