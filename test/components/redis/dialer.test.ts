import { expect, test } from 'vitest';
import { Dialer } from '../../../src/components/redis/dialer.ts';
import type { RedisClient } from '../../../src/components/redis/driver.ts';
import { type NodeAddress, type RedisNode, targetOf } from '../../../src/components/redis/target.ts';
import { firstOf } from '../../../src/components/remote/first-of.ts';

/** Asks three sentinels for a server; only the last one knows any, whose name is `main`. */
function asked(sentinelName: string): Promise<NodeAddress> {
  const target = targetOf({ nodes: ['a:1', 'b:2', 'c:3'], sentinelName }, 'redisState()');
  const createClient = (options: object): RedisClient => {
    const { host } = (options as { readonly socket: NodeAddress }).socket;
    const address = [Buffer.from('10.0.0.1'), Buffer.from('6380')];
    return {
      connect: () => Promise.resolve(),
      sendCommand: ([, , name]) => Promise.resolve(host === 'c' && name === 'main' ? address : null),
      subscribe: () => Promise.resolve(),
      unsubscribe: () => Promise.resolve(),
      pSubscribe: () => Promise.resolve(),
      pUnsubscribe: () => Promise.resolve(),
      sSubscribe: () => Promise.resolve(),
      on: () => undefined,
      destroy: () => undefined,
    };
  };
  const dialer = new Dialer({ target, load: () => Promise.resolve({ createClient }) });
  const open = (node: RedisNode, signal: AbortSignal): Promise<NodeAddress> => dialer.addressVia(node, signal);
  return firstOf(target.nodes, open, new AbortController().signal);
}

test('a sentinel that does not know the server is passed over', async () => {
  expect(await asked('main')).toEqual({ host: '10.0.0.1', port: 6380 });
});

test('a name that no sentinel knows is a wrong one', async () => {
  await expect(asked('mian')).rejects.toMatchObject({
    kind: 'failed',
    message: expect.stringMatching(/^a:1: the sentinel knows no server "mian"; b:2: .*; c:3: .*$/),
  });
});
