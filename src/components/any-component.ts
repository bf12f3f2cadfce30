import type { BindingDefinition } from './binding.ts';
import type { ConfigurationStoreDefinition } from './configuration-store.ts';
import type { KeyValueDefinition } from './key-value.ts';
import type { LockStoreDefinition } from './lock-store.ts';
import type { PubSubDefinition } from './pubsub.ts';
import type { SecretStoreDefinition } from './secret-store.ts';

/** A store of any building block. @public */
export type AnyStoreDefinition =
  | KeyValueDefinition
  | SecretStoreDefinition
  | ConfigurationStoreDefinition
  | LockStoreDefinition
  | BindingDefinition;

/** A component of any building block; `block` tells which. Without it, it is a pub/sub. @public */
export type AnyComponentDefinition = PubSubDefinition | AnyStoreDefinition;

/** The stores of one building block. */
export function storesOf<Block extends AnyStoreDefinition['block']>(
  components: readonly AnyComponentDefinition[],
  block: Block,
): Extract<AnyStoreDefinition, { readonly block: Block }>[] {
  type Wanted = Extract<AnyStoreDefinition, { readonly block: Block }>;
  return components.filter((one): one is Wanted => one.block === block);
}

/** The pub/sub components. */
export function pubsubsOf(components: readonly AnyComponentDefinition[]): PubSubDefinition[] {
  return components.filter((one): one is PubSubDefinition => one.block === undefined || one.block === 'pubsub');
}
