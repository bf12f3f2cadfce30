import type { Message } from './pubsub.ts';

/** The names of metadata with the key of a message, as in Dapr; the first one that is there counts. */
export const KEY_NAMES: readonly string[] = ['partitionKey', '__key'];

/** The name under which a message is published with a key. */
export const KEY_NAME = 'partitionKey';

/** The key of a message; `undefined` if it has none, or an empty one. */
export function keyOf({ metadata }: Message): string | undefined {
  return metadata['partitionKey'] || metadata['__key'] || undefined;
}
