import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { hasPostgresql, hasRedis, startPostgresql, startRedis } from '../support/servers.ts';

/** Uses the package by its name, so it needs `npm run build`, which `npm test` does first. */
const example = fileURLToPath(new URL('../../examples/fleet.ts', import.meta.url));

async function runFleet(url: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', example, url, '100'], {
    env: { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

function expectNothingLost({ code, output }: Awaited<ReturnType<typeof runFleet>>): void {
  expect(output).toContain('host b was killed (SIGKILL)');
  const [, done, accepted] = /(\d+) of (\d+) accepted are done, \d+ of them more than once, 0 lost/.exec(output) ?? [];
  expect(Number(accepted), output).toBeGreaterThan(150);
  expect(done).toBe(accepted);
  expect(code).toBe(0);
}

test.runIf(hasPostgresql())(
  'fleet.ts: one of three hosts on PostgreSQL is killed, and nothing is lost',
  async () => {
    await using server = await startPostgresql();
    expectNothingLost(await runFleet(`postgresql://postgres@127.0.0.1:${server.port}/postgres`));
  },
  120_000,
);

test.runIf(hasRedis())(
  'fleet.ts: one of three hosts on Redis is killed, and nothing is lost',
  async () => {
    await using server = await startRedis();
    expectNothingLost(await runFleet(`redis://127.0.0.1:${server.port}`));
  },
  120_000,
);
