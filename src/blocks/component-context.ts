import type { Membership } from '../cluster/membership.ts';
import type { ComponentContext } from '../components/component.ts';
import type { BlockDeps } from './block-deps.ts';

/** The context that a sidecar gives every component that it opens. */
export function componentContext(
  { appId, clock, logger, work }: Pick<BlockDeps, 'appId' | 'clock' | 'logger' | 'work'>,
  { store: state, shards, patience }: Membership,
): ComponentContext {
  return {
    ...{ appId, clock, logger, state, shards },
    track: (what) => work.begin(what),
    begin: (what, read) => patience.begin(what, read),
  };
}
