/** Runs the programs of docs/frameworks.md as they stand there. */
import { describe, expect, test } from 'vitest';
import { codeOf, start } from './code-of-docs.ts';

const PATIENCE = { timeout: 20_000 };
/** Nest's decorators are those that TypeScript had before the language. */
const NEST = { TSX_TSCONFIG_PATH: 'test/docs/nest.tsconfig.json' };

const SECTIONS = ['node:http', 'Express', 'Koa', 'Fastify', 'Hono and everything that speaks fetch', 'NestJS'];

const codeBelow = (section: string): readonly string[] => codeOf('docs/frameworks.md', `\n## ${section}\n`);
const onFreePorts = (code: string): string => code.replaceAll(/\b3[05]00\b/g, '0');

test.each(SECTIONS)('the program for %s receives a message', async (section) => {
  const [program = ''] = codeBelow(section);
  const output = start(`frameworks-${SECTIONS.indexOf(section)}`, onFreePorts(program), NEST);
  await expect.poll(output, PATIENCE).toMatch(/order 1\n|exit code/);
  expect(output()).toBe('order 1\n');
});

test('the module for NestJS calls the methods that its decorators name, on their instance', async () => {
  const output = start('frameworks-nest-module', codeBelow('NestJS')[1] ?? '', NEST);
  // Nothing keeps the program: it ends by itself.
  await expect.poll(output, PATIENCE).toContain('exit code');
  expect(output()).toBe('order 1\nreminder of order 1\n\nexit code 0');
});

/** How each framework listens, in front of the lines that mount the API and behind them. */
const SERVERS: Readonly<Record<string, readonly [before: string, after: string]>> = {
  Express: [
    `import express from 'express'; import { expressHandler, Sidecar } from 'insidecar'; const app = express();`,
    `const server = app.listen(0, '127.0.0.1');`,
  ],
  Koa: [
    `import Koa from 'koa'; import { koaHandler, Sidecar } from 'insidecar'; const app = new Koa();`,
    `const server = app.listen(0, '127.0.0.1');`,
  ],
  Fastify: [
    `import fastify from 'fastify'; import { fastifyPlugin, Sidecar } from 'insidecar'; const app = fastify();`,
    `await app.listen({ port: 0, host: '127.0.0.1' }); const { server } = app;`,
  ],
  'Hono and everything that speaks fetch': [
    `import { createServer } from 'node:http'; import { fetchListener } from '../test/adapters/fetch-bridge.ts';
     import { Hono } from 'hono'; import { fetchHandler, Sidecar } from 'insidecar'; const hono = new Hono();`,
    `const server = createServer(fetchListener(async (request) => hono.fetch(request))).listen(0, '127.0.0.1');`,
  ],
};

/** Asks every version of the API with and without the token, and for what is no route of it. */
const ASKING = `
import { once } from 'node:events';
await sidecar.start();
if (!server.listening) await once(server, 'listening');
const ask = async (path, init = {}) => (await fetch('http://127.0.0.1:' + server.address().port + path, init)).status;
const token = { headers: { 'sidecar-api-token': apiToken } };
console.log(JSON.stringify([
  await ask(PREFIX + '/v1.0/healthz'),
  await ask(PREFIX + '/v1.0/metadata'),
  await ask(PREFIX + '/v1.0/metadata', token),
  await ask(PREFIX + '/v1.0-alpha1/jobs/later', { ...token, method: 'POST', body: '{"dueTime":"1h"}' }),
  await ask('/elsewhere', token),
]));
process.exit(0);`;

describe('in the same server', () => {
  const cases = Object.entries(SERVERS).flatMap(([section, server]) =>
    codeBelow(section)
      .slice(1)
      .map((mount) => ({ section, server, mount, prefix: mount.includes("'/internal") ? '/internal' : '' })),
  );
  test.each(cases)('$section, below "$prefix": all of the API for those who have the token', async (one) => {
    const [before, after] = one.server;
    const constants = `const apiToken = 'secret'; const PREFIX = '${one.prefix}';`;
    const output = start(
      `frameworks-mount-${cases.indexOf(one)}`,
      [before, constants, one.mount, after, ASKING].join('\n'),
    );
    await expect.poll(output, PATIENCE).toContain('exit code');
    expect(output()).toBe('[204,401,200,204,404]\n\nexit code 0');
  });
});
