/** Every adapter serves the page and its stream, below a prefix or not, and behind compression. */

import type { RequestListener } from 'node:http';
import compression from 'compression';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expressHandler, fastifyPlugin, fetchHandler, koaHandler, nodeHandler } from '../../src/index.ts';
import type { Inspector } from '../../src/inspector/index.ts';
import { fetchListener } from '../adapters/fetch-bridge.ts';
import { listen } from '../support/http.ts';
import { hasChromium } from '../support/servers.ts';
import { Viewing } from './browser.ts';
import { TOKEN, World } from './world.ts';

/** A server with an inspector at a path; `/` for all of it. */
type Mount = (inspector: Inspector, path: string) => RequestListener | Promise<RequestListener>;

const optionsFor = (path: string): { readonly prefix?: string } => (path === '/' ? {} : { prefix: path });

const ADAPTERS: Readonly<Record<string, Mount>> = {
  node: (inspector, path) => nodeHandler(inspector, optionsFor(path)),
  'Express 4': (inspector, path) => express4().use(path, expressHandler(inspector)),
  'Express 5': (inspector, path) => express().use(path, expressHandler(inspector)),
  'Express 5, compressed': (inspector, path) =>
    express().use(
      compression({ threshold: 0 }),
      path === '/' ? expressHandler(inspector) : express().use(path, expressHandler(inspector)),
    ),
  Koa: (inspector, path) => new Koa().use(koaHandler(inspector, optionsFor(path))).callback(),
  Fastify: async (inspector, path) => {
    const app = fastify();
    await app.register(fastifyPlugin(inspector), optionsFor(path));
    await app.ready();
    return (req, res) => app.routing(req, res);
  },
  Hono: (inspector, path) => {
    const answer = fetchHandler(inspector, optionsFor(path));
    const app = new Hono();
    app.use(({ req }) => answer(req.raw));
    return fetchListener(async (request) => app.fetch(request));
  },
  fetch: (inspector, path) => fetchListener(fetchHandler(inspector, optionsFor(path))),
};

const CASES = Object.entries(ADAPTERS).flatMap(([name, mount]) =>
  ['/', '/admin/inspector'].map((path) => ({ name, path, mount })),
);

describe.skipIf(!hasChromium())('adapters', () => {
  const viewing = new Viewing();
  let world: World;
  let id = 0;
  beforeAll(async () => {
    world = await World.open();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test.each(CASES)('$name, $path', async ({ path, mount }) => {
    await using server = await listen(await mount(world.inspector, path));
    const view = await viewing.open(`${server.url}${path}?token=${TOKEN}#/messages`);
    await view.heads('Messages');
    await view.shows('live', view.page.locator('header.top .live.open'));
    id++;
    await world.order({ id, price: id });
    await view.row(`order-${id}`).filter({ hasText: 'delivered' }).waitFor();
    // What the address shows is below the prefix, with a slash at its end, and without the token.
    expect(view.page.url()).toMatch(`${server.url}${path === '/' ? '' : path}/#/messages`);
    await view.page.context().close();
  });
});
