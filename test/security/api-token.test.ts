import crypto, { createHash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startWorld, type World } from '../support/world.ts';

/** The lengths of all that is compared from now on, in time that tells nothing. */
function comparedLengths(): () => readonly (readonly [number, number])[] {
  const spy = vi.spyOn(crypto, 'timingSafeEqual');
  // For those that have imported it by its name.
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return () => spy.mock.calls.map(([one, other]) => [one.byteLength, other.byteLength]);
}

const TOKEN = 'a token with Capitals';
const asked = (world: World, token?: string | readonly string[]): Promise<number> =>
  world
    .send('GET', '/v1.0/metadata', token === undefined ? {} : { headers: { 'sidecar-api-token': token } })
    .then(({ status }) => status);

/** Sends a request as it stands, which a client library would not let us. */
function raw(world: World, lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(world.server.port, '127.0.0.1', () => socket.end(`${[...lines, '', ''].join('\r\n')}`));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text)).on('error', reject);
  });
}

describe('the API token', () => {
  test.each<[what: string, token: string | readonly string[] | undefined]>([
    ['none', undefined],
    ['an empty one', ''],
    ['a beginning of it', TOKEN.slice(0, -1)],
    ['it and more', `${TOKEN}x`],
    ['it in small letters', TOKEN.toLowerCase()],
    ['it twice', [TOKEN, TOKEN]],
    ['it after another', ['x', TOKEN]],
    ['its digest', createHash('sha256').update(TOKEN).digest('hex')],
    ['a very long one', 'x'.repeat(8_000)],
  ])('refuses %s', async (_, token) => {
    await using world = await startWorld({ apiToken: TOKEN });
    expect(await asked(world, token)).toBe(401);
    expect(await asked(world, TOKEN)).toBe(200);
  });

  test('is compared by digests of one length, whatever is sent', async () => {
    const compared = comparedLengths();
    await using world = await startWorld({ apiToken: TOKEN });
    for (const token of ['', 'x', TOKEN, 'x'.repeat(8_000)]) await asked(world, token);
    expect(compared()).toEqual(Array.from({ length: 4 }, () => [32, 32]));
  });

  test('two header fields are no way round it, in whatever case', async () => {
    await using world = await startWorld({ apiToken: TOKEN });
    const get = (...headers: string[]): Promise<string> =>
      raw(world, ['GET /v1.0/metadata HTTP/1.1', 'Host: x', 'Connection: close', ...headers]);
    expect(await get(`Sidecar-Api-Token: ${TOKEN}`)).toMatch(/^HTTP\/1.1 200/);
    expect(await get('sidecar-api-token: x', `SIDECAR-API-TOKEN: ${TOKEN}`)).toMatch(/^HTTP\/1.1 401/);
    expect(await get(`sidecar-api-token: ${TOKEN}`, 'sidecar-api-token: x')).toMatch(/^HTTP\/1.1 401/);
    expect(await get('__proto__: x', 'constructor: y')).toMatch(/^HTTP\/1.1 401/);
  });

  test('who has none learns neither which paths there are nor which methods', async () => {
    await using world = await startWorld({ apiToken: TOKEN });
    const answers = await Promise.all(
      (
        [
          ['GET', '/nope'],
          ['DELETE', '/v1.0/metadata'],
          ['POST', '/v1.0/healthz'],
          ['GET', '/v1.0/publish/%ff/x'],
          ['GET', '/v1.0/invoke/other/method/x'],
        ] as const
      ).map(([method, path]) => world.send(method, path)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
  });

  test('of neither kind is shown anywhere', async () => {
    await using world = await startWorld({ apiToken: TOKEN, appToken: 'the-app-token' });
    await asked(world, 'wrong-token');
    const answer = await world.send('GET', '/v1.0/metadata', { headers: { 'sidecar-api-token': TOKEN } });
    const seen = JSON.stringify([world.logger.lines, answer.text, world.events]);
    for (const token of [TOKEN, 'the-app-token', 'wrong-token']) expect(seen).not.toContain(token);
  });

  test('never reaches the application, which gets its own', async () => {
    await using world = await startWorld({ apiToken: TOKEN, appToken: 'the-app-token' });
    const headers = { 'sidecar-api-token': TOKEN };
    expect((await world.send('POST', '/v1.0/invoke/shop/method/x', { headers })).status).toBe(200);
    expect(world.deliveries[0]?.headers['sidecar-api-token']).toBe('the-app-token');
  });
});
