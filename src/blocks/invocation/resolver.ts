import type { Handler } from '../../http/message.ts';

/** A running sidecar of an application. */
export interface Instance {
  readonly id: string;
  /** Handles requests to it: its in-process handler, or an HTTP client to its address. */
  readonly handle: Handler;
}

/** Finds the instances of applications. */
export interface Resolver {
  /** The instances in the order in which to try them; none for an unknown application. */
  resolve(appId: string, namespace: string): Promise<readonly Instance[]>;
  /** Reports that no connection could be made: the instance is skipped for a while. */
  failed(instance: Instance): void;
}
