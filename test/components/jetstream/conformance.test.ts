import { afterAll, beforeAll, describe, test } from 'vitest';
import { pubSubConformance } from '../../../src/kit/index.ts';
import { hasNatsUrl, NatsForTests, openJetStream } from './nats-world.ts';

const MIB = 1024 * 1024;

describe.skipIf(!hasNatsUrl())('jetstreamPubSub', () => {
  let server: NatsForTests;
  let maxPayloadBytes = 0;
  beforeAll(async () => {
    server = await NatsForTests.start(['max_payload: 8MB']);
    const raw = await server.raw();
    maxPayloadBytes = raw.info?.max_payload ?? 0;
    await raw.close();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  for (const { name, needs, run } of pubSubConformance)
    test(name, async (context) => {
      // NATS has a limit of 1 MiB with headers unless it is told otherwise.
      context.skip(needs.includes('large') && maxPayloadBytes <= MIB, 'max_payload of the server is 1 MiB');
      await run(() => openJetStream(server.url));
    });
});
