import type { Caller, Identity } from '../security/identity.ts';

/** The identity by which hosts authenticate to each other. */
export interface HostIdentity {
  readonly own: Caller;
  readonly identity: Identity | undefined;
}
