import { memoryConfiguration } from '../components/memory/memory-configuration.ts';
import { redisConfiguration } from '../components/redis/index.ts';
import { REDIS_CONNECTION_IGNORES, REDIS_CONNECTION_NAMES } from './redis-connection.ts';
import { redisStore } from './redis-stores.ts';
import type { MakeStore } from './store-source.ts';

interface MetadataNames {
  readonly uses: readonly string[];
  readonly ignores: readonly string[];
}

/** The metadata of a `configuration.redis`. */
export const redisConfigurationMetadata: MetadataNames = {
  uses: REDIS_CONNECTION_NAMES,
  ignores: [...REDIS_CONNECTION_IGNORES, 'processingTimeout', 'redeliverInterval'],
};

/** Makes a `configuration.in-memory`: nothing can be set from a file. */
export const makeMemoryConfiguration: MakeStore = ({ name }) => memoryConfiguration(name);

/** Makes a `configuration.redis`. */
export const makeRedisConfiguration: MakeStore = (source) =>
  redisStore(source, (connection) => redisConfiguration(source.name, connection));
