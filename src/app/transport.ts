import type { Handler } from '../http/message.ts';
import type { Probe } from '../probe.ts';

/** The address of the application, as shown in metadata. */
export interface AppAddress {
  readonly host: string;
  /** Absent for an application in the same process. */
  readonly port?: number;
  readonly protocol: string;
}

/** A connection to the application: over a port, or in the same process. */
export interface AppTransport {
  readonly address: AppAddress;
  readonly handle: Handler;
  /** Loads what the first call needs; throws when that is not installed. */
  open?(): Promise<void>;
  /** Whether the application takes connections now. */
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
}

/** A transport whose requests over the network only the sidecar itself observes. */
export function quietTransport(transport: AppTransport, probe: Probe): AppTransport {
  return {
    get address() {
      return transport.address;
    },
    handle: (request) => probe.quietly(() => transport.handle(request)),
    open: async () => transport.open?.(),
    isReachable: () => transport.isReachable(),
    close: () => transport.close(),
  };
}
