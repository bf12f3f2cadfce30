/** The sizes of heads and bodies in `insidecar run`. */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Answer, freePort, send } from '../support/http.ts';
import { PATIENCE, startCli, temporaryDirectory } from './cli.ts';

const KIB = 1024;

/** An application that answers with as much of a head as it got. */
async function echo(): Promise<number> {
  const server = createServer({ maxHeaderSize: 1024 * KIB }, (req, res) => {
    req.resume();
    res.writeHead(200, { 'x-long': req.headers['x-long'] ?? '' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

/** Starts a run without a command, and waits for it. */
async function run(httpPort: number, args: readonly string[]): Promise<string> {
  const cli = startCli(['run', ...args]);
  const url = `http://127.0.0.1:${httpPort}`;
  const isReady = (): Promise<number> =>
    send(url, 'GET', '/v1.0/healthz').then(
      ({ status }) => status,
      () => 0,
    );
  await expect.poll(isReady, PATIENCE).toBe(204);
  expect(cli.stderr()).not.toMatch(/read-buffer|ReadBuffer|MaxRequestSize/);
  return url;
}

const call = (url: string, bytes: number): Promise<Answer> =>
  send(url, 'GET', '/v1.0/invoke/orders/method/x', { headers: { 'x-long': 'x'.repeat(bytes) } });
const publish = (url: string, bytes: number): Promise<Answer> =>
  send(url, 'POST', '/v1.0/publish/pubsub/orders', { body: 'x'.repeat(bytes) });

describe.each<[what: string, flags: readonly string[], fields: string]>([
  ['--read-buffer-size 64Ki', ['--read-buffer-size', '64Ki'], 'readBufferSize: 64Ki'],
  ['--dapr-http-read-buffer-size 64', ['--dapr-http-read-buffer-size', '64'], 'daprHTTPReadBufferSize: 64'],
  ['--dapr-http-read-buffer-size 64Ki', ['--dapr-http-read-buffer-size', '64Ki'], 'readBufferSize: 65536'],
])('%s, and its field of a multi-app file', (_what, flags, fields) => {
  test('lets heads of that size through, both ways', async () => {
    const [appPort, httpPort] = [await echo(), await freePort()];
    const url = await run(httpPort, ['-a', 'orders', '-p', String(appPort), '-H', String(httpPort), ...flags]);
    expect((await call(url, 60 * KIB)).headers['x-long']).toHaveLength(60 * KIB);
    expect((await call(url, 65 * KIB)).status).toBe(431);
  });

  test('does so in a file', async () => {
    const [appPort, httpPort, directory] = [await echo(), await freePort(), await temporaryDirectory()];
    const app = `{appID: orders, appDirPath: ., appPort: ${appPort}, daprHTTPPort: ${httpPort}, ${fields}}`;
    await writeFile(join(directory, 'dapr.yaml'), `version: 1\napps: [${app}]\n`);
    const url = await run(httpPort, ['-f', directory]);
    expect((await call(url, 60 * KIB)).headers['x-long']).toHaveLength(60 * KIB);
  });
});

test.each<[what: string, field: string, flags: readonly string[]]>([
  ['daprHTTPMaxRequestSize: 1', 'daprHTTPMaxRequestSize: 1', []],
  ['maxBodySize before daprHTTPMaxRequestSize', 'daprHTTPMaxRequestSize: 8, maxBodySize: 1Mi', []],
  ['--dapr-http-max-request-size before the file', 'maxBodySize: 8Mi', ['--dapr-http-max-request-size', '1']],
])('%s limits the body of a request in a multi-app file', async (_what, field, flags) => {
  const [httpPort, directory] = [await freePort(), await temporaryDirectory()];
  const app = `{appID: orders, appDirPath: ., daprHTTPPort: ${httpPort}, ${field}}`;
  await writeFile(join(directory, 'dapr.yaml'), `version: 1\napps: [${app}]\n`);
  const url = await run(httpPort, ['-f', directory, ...flags]);
  expect((await publish(url, 1_000 * KIB)).status).toBe(204);
  expect((await publish(url, 1_100 * KIB)).status).toBe(413);
});
