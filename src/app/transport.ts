import type { Handler } from '../http/message.ts';

/** Where the application is, as metadata shows it. */
export interface AppAddress {
  readonly host: string;
  /** Absent for an application in the same process. */
  readonly port?: number;
  readonly protocol: string;
}

/** One way to the application: over a port, or in the same process. */
export interface AppTransport {
  readonly address: AppAddress;
  readonly handle: Handler;
  /** Of an application in this process: the request objects that it is called with. */
  readonly calls?: Pick<WeakSet<object>, 'has'>;
  /** What must be there before the first call; throws when it is not. */
  open?(): Promise<void>;
  /** Whether the application takes requests now. */
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
}
