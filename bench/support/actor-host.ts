/** A host of actors in code, for the row of forwarded calls in `bench/actors.ts`: state in Redis, its API on a port. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadBuilt } from './built.ts';
import { serve } from './contender.ts';

const [, url = ''] = process.argv.slice(2);
const { Actor, nodeHandler, Sidecar } = await loadBuilt();
const redis = await import(new URL('../../dist/redis.mjs', import.meta.url).href);
const { redisState } = redis as typeof import('../../src/components/redis/index.ts');

/** Says where it is. */
class Bench extends Actor {
  where(): number {
    return process.pid;
  }
}

const [api, peers] = [createServer(), createServer()];
for (const server of [api, peers]) {
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}
const portOf = (server: typeof api): number => (server.address() as AddressInfo).port;
const sidecar = new Sidecar({
  appId: 'bench',
  state: redisState({ url }),
  address: `http://127.0.0.1:${portOf(peers)}`,
  identity: { keys: [{ secret: 'a shared secret of more than 32 bytes' }] },
});
sidecar.actors.register(Bench, { type: 'Bench' });
api.on('request', nodeHandler(sidecar));
peers.on('request', nodeHandler(sidecar.peers));
await sidecar.start();
serve({ port: portOf(api) });
