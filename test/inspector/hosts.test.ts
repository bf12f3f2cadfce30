/** The inspector of one of several hosts that share a store. */
import { expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { inspect } from '../../src/inspector/index.ts';
import { Fleet, type Member } from '../support/fleet.ts';
import { WRITE } from './inspected.ts';

const TOPICS = Array.from({ length: 4 }, (_, index) => `topic-${index}`);

async function post({ sidecar }: Member, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const made = request('POST', `/api/v1/${path}`, { headers: WRITE, body });
  const { body: bytes } = await inspect(sidecar, { access: 'open' }).handle(made);
  return JSON.parse(Buffer.from(bytes as Uint8Array).toString()) as Record<string, unknown>;
}

test('a change of an ordered queue that another host hands out is told where that host is', async () => {
  await using fleet = new Fleet();
  const addresses = ['http://10.0.0.5:3500', 'http://10.0.0.6:3500'] as const;
  const [a, b] = [await fleet.join({ address: addresses[0] }), await fleet.join({ address: addresses[1] })];
  for (const member of [a, b]) {
    // In order: one host hands all of them out.
    member.concurrency = 1;
    await member.subscribe(...TOPICS);
  }
  await fleet.pass(3);
  for (const topic of TOPICS) await a.sidecar.pubsub.queues.pause({ pubsubName: 'pubsub', topic, group: 'shop' });
  await fleet.pass(3);
  for (const topic of TOPICS) await a.sidecar.pubsub.publish('pubsub', topic, topic);
  await fleet.pass(3);
  const seen: unknown[] = [];
  for (const topic of TOPICS) {
    const body = { queue: { pubsubName: 'pubsub', topic, group: 'shop' } };
    const atA = await post(a, 'queues/purge', body);
    const atB = await post(b, 'queues/purge', body);
    // Which host it is depends on the IDs of the hosts.
    const [refused, other] = 'errorCode' in atA ? [atA, addresses[1]] : [atB, addresses[0]];
    if (!('errorCode' in refused)) continue;
    seen.push(refused['errorCode']);
    expect(refused['message']).toMatch(new RegExp(`; host \\S+ is at ${other}$`));
  }
  expect(seen).toContain('ERR_QUEUE_BUSY');
});
