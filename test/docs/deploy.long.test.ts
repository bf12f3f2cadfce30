/** Runs the program of docs/deploy.md as a supervisor does: probes, signals, a second start. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/embedded-store.ts';
import { freePort } from '../support/http.ts';
import { codeOf, start } from './code-of-docs.ts';

const PATIENCE = { timeout: 30_000 };
const TEXT = readFileSync(new URL('../../docs/deploy.md', import.meta.url), 'utf8');
const [PROGRAM = ''] = codeOf('docs/deploy.md');
/** It says which process it is, to be sent signals. */
const NAMED = PROGRAM.replace("'ready'", "'ready', process.pid");

async function ports(): Promise<Record<'PORT' | 'API_PORT' | 'PROBE_PORT', string>> {
  const [service, api, probe] = [await freePort(), await freePort(), await freePort()];
  return { PORT: String(service), API_PORT: String(api), PROBE_PORT: String(probe) };
}

async function statusOf(port: string, path: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  'answers the probes, ends with code 0 on %s, and starts again',
  async (signal) => {
    const place = { STATE_PATH: `${temporaryDirectory()}/state` };
    for (const life of [1, 2]) {
      const given = await ports();
      const output = start(`deploy-${signal}-${life}`, NAMED, { ...given, ...place });
      await expect.poll(output, PATIENCE).toContain('ready');
      expect(await statusOf(given.PROBE_PORT, '/v1.0/healthz')).toBe(204);
      expect(await statusOf(given.PROBE_PORT, '/v1.0/healthz/outbound')).toBe(204);
      // The port of the probes is not the API.
      expect(await statusOf(given.PROBE_PORT, '/v1.0/metadata')).toBe(404);
      expect(await statusOf(given.API_PORT, '/v1.0/metadata')).toBe(200);
      expect(await statusOf(given.PORT, '/')).toBe(200);
      process.kill(Number(/ready (\d+)/.exec(output())?.[1]), signal);
      await expect.poll(output, PATIENCE).toContain('exit code 0');
    }
  },
  120_000,
);

test('the check of the Dockerfile asks the probe', async () => {
  const [, code = ''] = /HEALTHCHECK .*"-e", "(.*?)"\]/.exec(TEXT) ?? [];
  expect(code).toContain('http://127.0.0.1:3501/v1.0/healthz');
  const port = await freePort();
  const output = start('deploy-check', code.replace('3501', String(port)));
  await expect.poll(output, PATIENCE).toContain('exit code 1');
});
