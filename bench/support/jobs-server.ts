/** A sidecar for `bench/jobs.ts` behind its HTTP API; its second argument is the directory of its state. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadBuilt, loadEmbedded } from './built.ts';
import { serve } from './contender.ts';

const { nodeListener, Sidecar } = await loadBuilt();
const { embedded } = await loadEmbedded();
const [, , , path = ''] = process.argv;

const sidecar = new Sidecar({ appId: 'bench', state: embedded({ path }) });
await sidecar.start();
const listener = nodeListener(sidecar);
let count = 0;
// The load sends one path; every request is to be a job of its own.
const server = createServer((req, res) => {
  req.url = `/v1.0-alpha1/jobs/job-${++count}`;
  void listener(req, res);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
serve({ port: (server.address() as AddressInfo).port });
