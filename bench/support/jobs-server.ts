/** A sidecar for `bench/jobs.ts` behind its HTTP API; its second argument is a {@link JobsServerArgument} as JSON. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadBuilt, loadEmbedded } from './built.ts';
import { serve } from './contender.ts';

export interface JobsServerArgument {
  /** The directory of its state. */
  readonly path: string;
  /** The port of its application, if it has one. */
  readonly appPort?: number;
}

const { nodeHandler, Sidecar } = await loadBuilt();
const { embeddedState } = await loadEmbedded();
const { path, appPort } = JSON.parse(process.argv[3] ?? '') as JobsServerArgument;

const app = appPort === undefined ? undefined : { app: { port: appPort } };
const sidecar = new Sidecar({ appId: 'bench', state: embeddedState({ path }), ...app });
await sidecar.start();
const server = createServer(nodeHandler(sidecar));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
serve({ port: (server.address() as AddressInfo).port });
