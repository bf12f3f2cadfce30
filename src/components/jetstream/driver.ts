import { loadBrokerDriver } from '../broker/load-driver.ts';

/** The used part of a message's headers. */
export interface NatsHeaders {
  /** Of a status message, else 0. */
  readonly code: number;
  readonly description: string;
  get(name: string): string;
}

/** The used part of a message. */
export interface NatsMessage {
  readonly subject: string;
  readonly reply?: string | undefined;
  readonly data: Uint8Array;
  /** Throws if the name of a header is not valid. */
  readonly headers?: NatsHeaders | undefined;
}

/** The used part of a subscription. */
export interface NatsSubscription {
  unsubscribe(): void;
}

/** A report of a connection. */
export interface NatsStatus {
  readonly type: string;
  /** Of a connection that may not use a subject: the subject. */
  readonly error?: Error & { readonly subject?: string };
}

/** The used part of a connection: the package need not be installed. */
export interface NatsConnection {
  readonly info?: { readonly max_payload: number; readonly connect_urls?: readonly string[] | undefined } | undefined;
  publish(subject: string, data: Uint8Array | string, options?: object): void;
  subscribe(
    subject: string,
    options: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
  flush(): Promise<void>;
  status(): AsyncIterable<NatsStatus>;
  isClosed(): boolean;
  /** The reason, if there is one. */
  closed(): Promise<unknown>;
  close(): Promise<void>;
}

/** The used part of the package. */
export interface NatsModule {
  connect(options: object): Promise<NatsConnection>;
  jwtAuthenticator(jwt: string, seed: Uint8Array): unknown;
}

/**
 * Loads the driver.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadNats(name = '@nats-io/transport-node'): Promise<NatsModule> {
  return loadBrokerDriver({ name, version: '3' }, 'pubsub.jetstream');
}
