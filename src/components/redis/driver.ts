import { StateError } from '../../state/errors.ts';

/** An argument of a command. */
export type RedisArgument = string | Buffer;

/** The used part of a `redis` connection: the package need not be installed. */
export interface RedisClient {
  connect(): Promise<unknown>;
  /** Texts in replies are buffers. */
  sendCommand(args: readonly RedisArgument[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
  sSubscribe(channel: string, listener: (message: string) => void): Promise<void>;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  destroy(): void;
}

interface RedisModule {
  createClient(options: object): RedisClient;
}

/** A variable, so that neither TypeScript nor a bundler resolves the optional module. */
const REDIS: string = 'redis';

/**
 * Loads the driver.
 *
 * @throws StateError `driver-missing` naming the package to install.
 */
export async function loadRedis(name: string = REDIS): Promise<RedisModule> {
  let module: RedisModule & { readonly default?: RedisModule };
  try {
    module = (await import(name)) as typeof module;
  } catch (cause) {
    const message = `State in Redis needs the package ${name}: run "npm install ${name}".`;
    throw new StateError('driver-missing', message, cause);
  }
  return module.default ?? module;
}
