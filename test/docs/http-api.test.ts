/** Sends the requests of docs/http-api.md to its program, one after the other, and compares the answers that it shows. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { memoryPubSub, nodeHandler, Sidecar } from '../../src/index.ts';
import { sendCurl } from '../support/curl.ts';
import { listen } from '../support/http.ts';
import { codeOf, start } from './code-of-docs.ts';

const text = readFileSync(new URL('../../docs/http-api.md', import.meta.url), 'utf8');

interface Example {
  readonly line: string;
  /** The JSON that the document shows next. */
  readonly shown: unknown;
}

const examples: readonly Example[] = [...text.matchAll(/^curl .*$/gm)].map(({ 0: line, index }) => {
  const [, json = 'null'] = /```json\n(.*?)```/s.exec(text.slice(index)) ?? [];
  return { line, shown: json.includes('…') ? undefined : JSON.parse(json) };
});

/** The status of each example, and whether its answer is the JSON that the document shows next. */
const EXPECTED: readonly (readonly [path: RegExp, status: number, isShown?: true])[] = [
  [/publish\/nope\/orders/, 404, true],
  [/publish\/pubsub\/orders$/, 204],
  [/ttlInSeconds=60/, 204],
  [/ce_specversion/, 204],
  [/cloudevents\+json/, 204],
  [/publish\/bulk/, 204],
  [/-d .*state\/store$/, 204],
  [/state\/store\/order-1$/, 200, true],
  [/state\/store\/transaction$/, 204],
  [/state\/store\/query$/, 204],
  [/jobs\/report$/, 204],
  [/-i http.*jobs\/report$/, 200, true],
  [/DELETE .*jobs\/report$/, 204],
  [/start\?instanceID=order-1/, 202],
  [/raiseEvent\/approved/, 202],
  [/v1\.0\/metadata$/, 200, true],
  [/metadata\/colour/, 204],
  [/healthz$/, 204],
  [/healthz\?appid=orders/, 204],
  [/healthz\/outbound/, 204],
];

test('every request of docs/http-api.md is answered as it says', async () => {
  const [program = ''] = codeOf('docs/http-api.md');
  const listening = "server.once('listening', () => console.log(JSON.stringify(server.address())));";
  const output = start('http-api', `${program.replace('3500', '0')}${listening}\n`);
  await expect.poll(output, { timeout: 15_000 }).toContain('"port":');
  const url = `http://127.0.0.1:${/"port":(\d+)/.exec(output())?.[1]}`;
  expect(examples.map(({ line }) => line)).toEqual(EXPECTED.map(([path]) => expect.stringMatching(path)));
  for (const [index, { line, shown }] of examples.entries()) {
    const [, status, isShown] = EXPECTED[index] ?? [];
    const response = await sendCurl(line, url);
    const body = await response.text();
    expect([line, response.status, body]).toEqual([line, status, expect.anything()]);
    if (isShown) expect(JSON.parse(body)).toEqual(shown);
  }
});

test('a subscriber receives the event that docs/http-api.md shows', async () => {
  const [, shown = ''] = /The subscriber receives:\n\n```json\n(.*?)```/s.exec(text) ?? [];
  const received: string[] = [];
  await using sidecar = new Sidecar({
    appId: 'orders',
    app: {
      fetch: async (request) => {
        if (request.method === 'POST') received.push(await request.text());
        return new Response(null, { status: request.method === 'POST' ? 200 : 404 });
      },
    },
    components: [memoryPubSub('pubsub')],
    subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }],
  });
  await sidecar.start();
  await using server = await listen(nodeHandler(sidecar));
  await sendCurl(examples[1]?.line ?? '', server.url);
  await expect.poll(() => received.length).toBe(1);
  const changing = { id: expect.any(String), time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) };
  expect(JSON.parse(received[0] ?? '')).toEqual({ ...JSON.parse(shown), ...changing });
});
