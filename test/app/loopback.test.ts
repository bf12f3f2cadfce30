/** An application on a port of this host, by the addresses that it may have there. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accepts } from '../../src/app/http-channel.ts';
import { type AppOptions, Sidecar } from '../../src/index.ts';
import { freePort } from '../support/http.ts';

const hasIPv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

/** Below those that systems give out: another test may get the same one on 127.0.0.1. */
function ownPort(): number {
  return 10_000 + Math.floor(Math.random() * 10_000);
}

async function serve(
  host: string,
  port = host === '::1' ? ownPort() : 0,
): Promise<{ readonly server: Server; readonly port: number }> {
  const listener: RequestListener = (req, res) => {
    if (req.url?.startsWith('/sidecar/')) return void res.writeHead(404).end();
    req.resume();
    req.on('end', () => res.end(`${host} for ${req.headers.host}`));
  };
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { server, port: (server.address() as AddressInfo).port };
}

/** What applications answer to calls with bytes and with a stream. */
async function answers(app: AppOptions): Promise<readonly string[]> {
  await using sidecar = new Sidecar({ appId: 'shop', app });
  await sidecar.start();
  expect((await sidecar.metadata.get()).appConnectionProperties).toMatchObject({ port: 'port' in app && app.port });
  const calls = [Buffer.from('x'), Readable.from([Buffer.from('x')])].map(async (body) =>
    (await sidecar.invocation.invoke('shop', 'x', { method: 'POST', body })).text(),
  );
  return Promise.all(calls);
}

describe.runIf(hasIPv6)('an application on ::1 only', () => {
  test.each([undefined, '::1', '[::1]'])('is called when its host is %s', async (host) => {
    const { port } = await serve('::1');
    const named = `[::1]:${port}`;
    const app = host === undefined ? { port } : { port, host };
    expect(await answers(app)).toEqual([`::1 for ${named}`, `::1 for ${named}`]);
    expect(await accepts(port)).toBe(true);
  });

  test('comes after one on 127.0.0.1', async () => {
    const { port } = await serve('127.0.0.1');
    await serve('::1', port);
    const own = `127.0.0.1 for 127.0.0.1:${port}`;
    expect(await answers({ port })).toEqual([own, own]);
  });

  test('is found when it comes back at the other address', async () => {
    const { server, port } = await serve('127.0.0.1');
    await using sidecar = new Sidecar({ appId: 'shop', app: { port } });
    await sidecar.start();
    const ask = async (): Promise<string> =>
      (await sidecar.invocation.invoke('shop', 'x', { method: 'POST', body: 'x' })).text();
    expect(await ask()).toBe(`127.0.0.1 for 127.0.0.1:${port}`);
    const closed = once(server, 'close');
    server.close().closeAllConnections();
    await closed;
    await serve('::1', port);
    // The end of an idle connection may not have been read yet.
    await expect.poll(() => ask()).toBe(`::1 for [::1]:${port}`);
    expect((await sidecar.metadata.get()).appConnectionProperties).toMatchObject({ channelAddress: '::1' });
  });
});

test('an application that is at neither address fails with the first', async () => {
  const port = await freePort();
  await using sidecar = new Sidecar({ appId: 'shop', app: { port } });
  await sidecar.start();
  expect(await accepts(port)).toBe(false);
  await expect(sidecar.invocation.invoke('shop', 'x')).rejects.toThrow(`ECONNREFUSED 127.0.0.1:${port}`);
});
