import { expect, test, vi } from 'vitest';
import { redisPubSub } from '../../../../src/components/redis/index.ts';
import { Sidecar } from '../../../../src/index.ts';
import { RecordingLogger } from '../../../support/logger.ts';

vi.mock('redis', () => {
  throw new Error("Cannot find package 'redis'");
});

test('without the package redis, the sidecar does not start, and says what to install', async () => {
  const components = [redisPubSub('broker', { url: 'redis://127.0.0.1:1' })];
  await using sidecar = new Sidecar({ appId: 'shop', components, logger: new RecordingLogger() });
  await expect(sidecar.start()).rejects.toThrow(
    'The pub/sub component of type pubsub.redis needs the package redis: run "npm install redis".',
  );
});
