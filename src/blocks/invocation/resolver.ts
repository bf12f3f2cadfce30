import type { Handler } from '../../http/message.ts';

/** A running sidecar of an application. */
export interface Instance {
  readonly id: string;
  /** What it offers to other sidecars: in this process, or an HTTP client to its address. */
  readonly handle: Handler;
}

/** Finds the instances of applications. */
export interface Resolver {
  /** In the order in which to try them; none for an application that is not known. */
  resolve(appId: string, namespace: string): Promise<readonly Instance[]>;
  /** No connection could be made: it is left out for a while. */
  failed(instance: Instance): void;
}
