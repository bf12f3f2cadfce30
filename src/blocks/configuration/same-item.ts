import type { ConfigurationItem } from '../../components/configuration-store.ts';

type Metadata = NonNullable<ConfigurationItem['metadata']>;

/** Whether a key is as it was. */
export function sameItem(one: ConfigurationItem | undefined, other: ConfigurationItem | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.value === other.value && one.version === other.version && sameMetadata(one.metadata, other.metadata);
}

function sameMetadata(one: Metadata = {}, other: Metadata = {}): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && one[name] === other[name]);
}
