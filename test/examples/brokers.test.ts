import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { hasRabbitmq, hasRedis, startRabbitmq, startRedis } from '../support/servers.ts';

/** Uses the package by its name, so it needs `npm run build`, which `npm test` does first. */
async function runExample(
  name: string,
  url: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const file = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', file, url], {
    env: { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

test.runIf(hasRedis())(
  'redis-streams.ts: two groups share a stream with another program',
  { timeout: 60_000 },
  async () => {
    await using server = await startRedis();
    const { code, output } = await runExample('redis-streams.ts', `redis://127.0.0.1:${server.port}`);
    expect(output).toMatch(/billing-\d+ has taken order 2 at attempt 2/);
    expect(output).toMatch(/shipping-\d+ has taken order 1 at attempt 1/);
    expect(output.match(/: 0 unprocessed/g), output).toHaveLength(2);
    expect(code).toBe(0);
  },
);

test.runIf(hasRabbitmq())(
  'rabbitmq.ts: a message becomes a dead letter with its origin',
  { timeout: 90_000 },
  async () => {
    await using server = await startRabbitmq();
    const { code, output } = await runExample('rabbitmq.ts', `amqp://127.0.0.1:${server.port}`);
    expect(output.match(/seen by AMQP/g), output).toHaveLength(3);
    expect(output).toMatch(/dead letter: order 2 of billing-\d+: order 2 has no price \(attempt 3\)/);
    expect(code).toBe(0);
  },
);
