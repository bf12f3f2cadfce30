/** An application for `bench/jobs.ts`: in a process of its own, takes every run and counts them. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from './contender.ts';

let delivered = 0;
let lastDeliveredAt = 0;
const server = createServer((req, res) => {
  delivered++;
  lastDeliveredAt = Date.now();
  req.resume().on('end', () => res.end());
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
serve({ port, delivered: () => delivered, lastDeliveredAt: () => lastDeliveredAt });
