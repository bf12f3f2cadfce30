import type { SidecarRequest, SidecarResponse } from '../../http/message.ts';
import type { Policy } from '../../resiliency/policy.ts';
import type { Fields } from './headers.ts';

/** Somewhere that a call can go. */
export interface Destination {
  /** What holds for calls of this path, if anything is configured. */
  policy(path: string): Policy | undefined;
  /** Adds what only this destination is told. */
  addTo(fields: Fields): Fields;
  /** The path to ask for there. */
  pathOf(path: string): string;
  /** Makes one attempt. */
  send(request: SidecarRequest): Promise<SidecarResponse>;
  /** Whether an error proves that nothing of the request has reached the target. */
  isUnreached(error: unknown): boolean;
}
