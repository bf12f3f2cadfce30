import type { HeaderMap } from '../../http/message.ts';

/** A request to the target. */
export interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly headers: HeaderMap;
  readonly body: Uint8Array;
}
