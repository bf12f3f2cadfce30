import type { RequestListener } from 'node:http';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { describe, expect, test } from 'vitest';
import {
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  koaHandler,
  nodeHandler,
  Sidecar,
  type SidecarOptions,
} from '../../src/index.ts';
import type { RequestHandler } from '../../src/kit/index.ts';
import { fetchListener } from '../adapters/fetch-bridge.ts';
import { comingFrom, listen, send } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';

const ELSEWHERE = '10.0.0.7';

interface Asked extends Partial<SidecarOptions> {
  readonly address?: string;
  readonly mount?: (handler: Sidecar) => RequestListener | Promise<RequestListener>;
  readonly paths?: readonly string[];
}

/** The warnings of a sidecar that is asked for these paths from that address. */
async function warningsOf({ address = ELSEWHERE, mount = nodeHandler, paths = ['/v1.0/metadata'], ...rest }: Asked) {
  const logger = new RecordingLogger();
  await using sidecar = new Sidecar({ appId: 'shop', logger, ...rest });
  await sidecar.start();
  await using server = await listen(comingFrom(address, await mount(sidecar)));
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await send(server.url, 'GET', path)).status);
  return { statuses, warnings: logger.at('warn').map(({ message, details }) => ({ message, ...details })) };
}

const WARNING = {
  remoteAddress: ELSEWHERE,
  message: expect.stringMatching(
    /^the API answers other hosts without a token: .*\(SIDECAR_API_TOKEN\).* 127\.0\.0\.1/,
  ),
};

describe('a request from another host, without an apiToken', () => {
  const ADAPTERS: Readonly<Record<string, (handler: RequestHandler) => RequestListener | Promise<RequestListener>>> = {
    'node:http': (handler) => nodeHandler(handler),
    Express: (handler) => express().use(expressHandler(handler)) as unknown as RequestListener,
    Koa: (handler) => new Koa().use(koaHandler(handler)).callback(),
    Fastify: async (handler) => {
      const app = fastify();
      await app.register(fastifyPlugin(handler));
      await app.ready();
      return (req, res) => app.routing(req, res);
    },
  };

  test.each(Object.entries(ADAPTERS))('is warned of once: %s', async (_name, mount) => {
    const { statuses, warnings } = await warningsOf({ mount, paths: ['/v1.0/metadata', '/v1.0/metadata'] });
    expect(statuses).toEqual([200, 200]);
    expect(warnings).toEqual([WARNING]);
  });

  test('is told with the name of the variable that Dapr knows', async () => {
    const { warnings } = await warningsOf({ wire: 'dapr' });
    expect(warnings).toEqual([{ ...WARNING, message: expect.stringContaining('DAPR_API_TOKEN') }]);
  });

  test.each<[what: string, Asked]>([
    ['from 127.0.0.1', { address: '127.0.0.1' }],
    ['from elsewhere in 127.0.0.0/8', { address: '127.8.9.10' }],
    ['from ::1', { address: '::1' }],
    ['from 127.0.0.1 to a socket for both families', { address: '::ffff:127.0.0.1' }],
    ['for health', { paths: ['/v1.0/healthz', '/v1.0/healthz/outbound'] }],
    ['for what is no route', { paths: ['/elsewhere'] }],
    ['with a token to ask for', { apiToken: 'secret' }],
    ['to the port for other sidecars', { mount: (sidecar) => nodeHandler(sidecar.peers), paths: ['/v1.0/invoke/x'] }],
    ['through fetch, which knows no address', { mount: (sidecar) => fetchListener(fetchHandler(sidecar)) }],
  ])('is not warned of %s', async (_what, asked) => {
    expect((await warningsOf(asked)).warnings).toEqual([]);
  });
});

test('a request tells the address that its connection comes from', async () => {
  const told: unknown[] = [];
  const handle: RequestHandler['handle'] = async ({ remoteAddress }) => {
    told.push(remoteAddress);
    return { status: 204, headers: {}, body: new Uint8Array() };
  };
  await using server = await listen(nodeHandler({ handle }));
  await send(server.url, 'GET', '/');
  expect(told).toEqual(['127.0.0.1']);
});
