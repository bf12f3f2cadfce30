/** A host of the actors of an application, for forwarded calls in `bench/actors.ts`: state in Redis, its API on a port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadBuilt } from './built.ts';
import { serve } from './contender.ts';

const [, argument = ''] = process.argv.slice(2);
const [url = '', appPort = ''] = argument.split(' ');
const { nodeHandler, Sidecar } = await loadBuilt();
const redis = await import(new URL('../../dist/redis.mjs', import.meta.url).href);
const { redisState } = redis as typeof import('../../src/components/redis/index.ts');

const [api, peers] = [createServer(), createServer()];
for (const server of [api, peers]) {
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}
const portOf = (server: typeof api): number => (server.address() as AddressInfo).port;
const sidecar = new Sidecar({
  appId: 'bench',
  wire: 'dapr',
  app: { port: Number(appPort) },
  state: redisState({ url }),
  address: `http://127.0.0.1:${portOf(peers)}`,
  identity: { keys: [{ secret: 'a shared secret of more than 32 bytes' }] },
});
api.on('request', nodeHandler(sidecar));
peers.on('request', nodeHandler(sidecar.peers));
await sidecar.start();
serve({ port: portOf(api) });
