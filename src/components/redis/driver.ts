import { StateError } from '../../state/errors.ts';
import { loadPackage } from '../../util/load-package.ts';

/** An argument of a command. */
export type RedisArgument = string | Buffer;

/** The used part of a `redis` connection: the package need not be installed. */
export interface RedisClient {
  connect(): Promise<unknown>;
  /** Texts in replies are buffers. */
  sendCommand(args: readonly RedisArgument[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  pSubscribe(pattern: string, listener: (message: string, channel: string) => void): Promise<void>;
  pUnsubscribe(pattern: string): Promise<void>;
  sSubscribe(channel: string, listener: (message: string) => void): Promise<void>;
  /** `sharded-channel-moved`: the node no longer has the channel, and has ended the subscription. */
  on(event: 'error' | 'end' | 'sharded-channel-moved', listener: (error?: unknown) => void): unknown;
  destroy(): void;
}

/** The used part of the package. */
export interface RedisModule {
  createClient(options: object): RedisClient;
}

/**
 * Loads the driver.
 *
 * @param neededBy - the feature that needs it, for the error
 * @throws StateError `driver-missing` naming the package to install.
 */
export function loadRedis(name = 'redis', neededBy = 'State in Redis'): Promise<RedisModule> {
  const wanted = { name, version: '6', neededBy };
  return loadPackage(wanted, (message, cause) => new StateError('driver-missing', message, cause));
}
