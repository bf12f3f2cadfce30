/** Who may call the application must not reach the sidecar's API through it. */
import express from 'express';
import { Hono } from 'hono';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { expressHandler, fetchHandler, koaHandler, request, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { RecordingLogger } from '../support/logger.ts';

type Mounted = NonNullable<SidecarOptions['app']>;

const FRAMEWORKS: Readonly<Record<string, (sidecar: () => Sidecar) => Mounted>> = {
  Express: (sidecar) => {
    const app = express();
    app.use((req, res, next) => expressHandler(sidecar(), { fallthrough: true })(req, res, next));
    app.use((req, res) => void res.status(418).send(`app: ${req.url}`));
    return { listener: app };
  },
  Koa: (sidecar) => {
    const app = new Koa();
    app.use((ctx, next) => koaHandler(sidecar(), { fallthrough: true })(ctx, next));
    app.use((ctx) => {
      ctx.status = 418;
      ctx.body = `app: ${ctx.url}`;
    });
    return { listener: app };
  },
  Hono: (sidecar) => {
    const app = new Hono();
    app.all(
      '*',
      async (c) =>
        (await fetchHandler(sidecar(), { fallthrough: true })(c.req.raw)) ?? c.text(`app: ${c.req.path}`, 418),
    );
    return { fetch: (web) => app.fetch(web) };
  },
};

for (const [name, mount] of Object.entries(FRAMEWORKS)) {
  test(`${name}: an invocation of /v1.0/metadata is answered by the application, not by the sidecar mounted in it`, async () => {
    const holder: { sidecar?: Sidecar } = {};
    await using sidecar = new Sidecar({ appId: 'shop', app: mount(() => holder.sidecar as Sidecar) });
    holder.sidecar = sidecar;
    await sidecar.start();
    const peer = request('GET', '/v1.0/invoke/shop/method/v1.0/metadata', { headers: { 'sidecar-peer': '1' } });
    const reply = await sidecar.handle(peer);
    expect(reply.status).toBe(418);
    const own = await sidecar.invocation.invoke('shop', 'GET', '/v1.0/metadata');
    expect(own.status).toBe(418);
    expect(await own.text()).toBe('app: /v1.0/metadata');
  });
}

test('equal API and app tokens are warned of, different ones are not', () => {
  const logger = new RecordingLogger();
  new Sidecar({ appId: 'shop', apiToken: 'same', appToken: 'same', logger });
  expect(logger.at('warn').map(({ message }) => message)).toEqual([expect.stringContaining('are equal')]);
  const other = new RecordingLogger();
  new Sidecar({ appId: 'shop', apiToken: 'one', appToken: 'two', logger: other });
  expect(other.at('warn')).toEqual([]);
});
