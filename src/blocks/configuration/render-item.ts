import type { ConfigurationItem } from '../../components/configuration-store.ts';

/** An item as JSON shows it: without what it does not have. */
export function renderItem({ value, version, metadata }: ConfigurationItem): object {
  return {
    value,
    ...(version === undefined || version === '' ? {} : { version }),
    ...(metadata === undefined || Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

/** Items by their keys. */
export function renderItems(items: ReadonlyMap<string, ConfigurationItem>): object {
  return Object.fromEntries([...items].map(([key, item]) => [key, renderItem(item)]));
}
