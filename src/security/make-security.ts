import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { type AccessControl, makeAccessControl } from './access-control.ts';
import type { AccessControlOptions } from './access-options.ts';
import { type Identity, makeIdentity } from './identity.ts';
import type { IdentityOptions } from './identity-options.ts';

/** What security takes of the sidecar's options. */
export interface SecurityDeps {
  readonly appId: string;
  readonly namespace: string;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly identity: IdentityOptions | undefined;
  readonly accessControl: AccessControlOptions | undefined;
  /** Whether the application speaks gRPC. */
  readonly isGrpc: boolean;
}

/** How a sidecar knows other sidecars, and what it lets them do. */
export interface Security {
  /** Without keys there is none: every other sidecar is anonymous. */
  readonly identity: Identity | undefined;
  /** Without policies there is none: everybody who gets here may call. */
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
