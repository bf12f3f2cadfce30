/** The application of `bench/soak.ts`: takes messages and job runs, answers invocations, and tells how long messages took. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What it has got since it was asked last. */
export interface AppReport {
  readonly messages: number;
  readonly runs: number;
  /** From the call of publish to the application, in milliseconds. */
  readonly deliveryMs: readonly number[];
}

let [messages, runs] = [0, 0];
let deliveryMs: number[] = [];

function take(url: string, body: string): void {
  if (url.startsWith('/job/')) runs++;
  if (!url.startsWith('/orders')) return;
  messages++;
  const { data } = JSON.parse(body) as { data: { sentAt: number } };
  deliveryMs.push(performance.timeOrigin + performance.now() - data.sentAt);
}

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    take(req.url ?? '', Buffer.concat(chunks).toString());
    res.end();
  });
});
server.keepAliveTimeout = 60_000;
process.on('message', () => {
  process.send?.({ messages, runs, deliveryMs } satisfies AppReport);
  [messages, runs, deliveryMs] = [0, 0, []];
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
