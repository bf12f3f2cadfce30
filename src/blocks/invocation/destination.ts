import type { SidecarRequest, SidecarResponse } from '../../http/message.ts';
import type { Policy } from '../../resiliency/policy.ts';
import type { Fields } from './headers.ts';

export interface Destination {
  /** Whether it is the application of this sidecar. */
  readonly isOwn: boolean;
  /** Its kind, if it is a service without a sidecar. */
  readonly service?: 'endpoint' | 'url' | undefined;
  /** The app ID of the caller, as the own application gets it. */
  readonly callerId?: string | undefined;
  /** The policy for calls of this path, if one is configured. */
  policy(path: string): Policy | undefined;
  /** Adds header fields that only this destination gets. */
  addTo(fields: Fields): Fields;
  /** The request path at the destination. */
  pathOf(path: string): string;
  /** Makes one attempt. */
  send(request: SidecarRequest): Promise<SidecarResponse>;
  /** Whether an error proves that no part of the request has reached the target. */
  isUnreached(error: unknown): boolean;
}
