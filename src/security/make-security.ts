import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { type AccessControl, makeAccessControl } from './access-control.ts';
import type { AccessControlOptions } from './access-options.ts';
import { type Identity, makeIdentity } from './identity.ts';
import type { IdentityOptions } from './identity-options.ts';

export interface SecurityDeps {
  readonly appId: string;
  readonly namespace: string;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly identity: IdentityOptions | undefined;
  readonly accessControl: AccessControlOptions | undefined;
  readonly isGrpc: boolean;
}

/** Authentication and authorisation of other sidecars. */
export interface Security {
  /** Absent without keys: all other sidecars are anonymous. */
  readonly identity: Identity | undefined;
  /** Absent without policies: every caller is allowed. */
  readonly accessControl: AccessControl | undefined;
}

/** @throws SidecarError `ERR_CONFIGURATION` */
export function makeSecurity({ identity, accessControl, isGrpc, ...deps }: SecurityDeps): Security {
  const { trustDomain } = accessControl ?? {};
  const warn = (message: string): void => deps.logger.warn({}, message);
  return {
    accessControl: accessControl && makeAccessControl(accessControl, { isGrpc, warn }),
    identity: identity && makeIdentity(identity, { ...deps, trustDomain }),
  };
}
