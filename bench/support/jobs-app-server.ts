/** An application for `bench/jobs.ts`, in a process of its own: takes every run. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

const server = createServer((req, res) => {
  req.resume().on('end', () => res.end());
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
serve({ port: (server.address() as AddressInfo).port });
