/** The sidecar of `bench/brokers.ts` behind node:http: publishes to a broker. Its second argument says which. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineBuilt } from './brokers.ts';
import { loadBuilt } from './built.ts';
import { serve } from './contender.ts';

const { entry, factory, options } = JSON.parse(process.argv[3] ?? '{}') as {
  readonly entry: string;
  readonly factory: string;
  readonly options: object;
};
const { Sidecar, nodeHandler } = await loadBuilt();
const component = await defineBuilt({ entry, factory }, options);
const sidecar = new Sidecar({ appId: 'bench', components: [component] });
await sidecar.start();
const server = createServer(nodeHandler(sidecar));
// Connections lie idle while another contender has its turn.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => serve({ port: (server.address() as AddressInfo).port }));
