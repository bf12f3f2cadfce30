import { randomUUID } from 'node:crypto';
import type { NameResolver } from '../blocks/invocation/resolution/name-resolver.ts';
import { offerPeer } from '../blocks/invocation/resolution/registry.ts';
import type { Placement } from '../blocks/placement/placement.ts';
import { refuseNewerHosts } from '../cluster/hosts.ts';
import { Membership } from '../cluster/membership.ts';
import { refuseUnfinishedMove } from '../cluster/unfinished-move.ts';
import type { Handler } from '../http/message.ts';
import type { StateStore } from '../state/store.ts';
import type { Work } from '../util/work.ts';
import type { ResolvedOptions } from './options.ts';

/** The dependencies of {@link joinHosts}. */
export interface JoinDeps {
  readonly resolver: NameResolver;
  readonly placement: Placement;
  /** Handles requests of other sidecars. */
  readonly handlePeer: Handler;
}

/**
 * Joins the hosts of the store, and makes this sidecar discoverable to the others.
 *
 * @throws StateError if the store is incomplete, or a later release runs on it whose records cannot be read.
 */
export async function joinHosts(
  options: ResolvedOptions,
  store: StateStore,
  { resolver, placement, handlePeer, work }: JoinDeps & { readonly work: Work },
): Promise<Membership> {
  const { appId, namespace, address, clock, logger, state } = options;
  await refuseUnfinishedMove(store, state.place ?? state.type);
  if (store.failure === undefined) await refuseNewerHosts(store, appId);
  const { actorTypes } = placement;
  const track = (what: string): (() => void) => work.begin(what);
  const host = await Membership.join({
    ...{ store, appId, namespace, address, actorTypes, clock, logger },
    newId: randomUUID,
    track,
  });
  offerPeer(host, handlePeer);
  resolver.start(host);
  placement.start(host);
  return host;
}
