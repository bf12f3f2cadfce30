import { fetchHandler } from '../../src/adapters/fetch.ts';
import { fetchListener } from './fetch-bridge.ts';
import { conforms, serve } from './serve.ts';

const behind = async (request: Request): Promise<Response> =>
  new Response(`${request.method} ${request.url.slice(new URL(request.url).origin.length)} ${await request.text()}`, {
    status: 299,
  });

conforms(
  (handler, { fallthrough, prefix } = {}) => {
    const options = prefix === undefined ? {} : { prefix };
    if (!fallthrough) return serve(fetchListener(fetchHandler(handler, options)));
    const passing = fetchHandler(handler, { ...options, fallthrough: true });
    return serve(fetchListener(async (request) => (await passing(request)) ?? behind(request)));
  },
  ['body-parser', 'mount-path'],
);
