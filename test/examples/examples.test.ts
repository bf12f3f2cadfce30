import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

/** Examples use the package by its name, so they need `npm run build`, which `npm test` does first. */
const examples = fileURLToPath(new URL('../../examples/', import.meta.url));

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
}

function run(name: string, ...args: string[]): Run {
  const child = spawn(process.execPath, ['--import', 'tsx', `${examples}${name}`, ...args], {
    env: { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  return { child, output: () => output };
}

async function runToEnd(name: string): Promise<{ code: number | null; output: string }> {
  const { child, output } = run(name);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output() };
}

test('state.ts: an order service loses nothing over a restart', async () => {
  const { code, output } = await runToEnd('state.ts');
  expect(output).toContain('3 of 5 orders placed, 3 lamps in stock');
  expect(output).toContain('after the restart: 0 lamps left');
  expect(output).toContain('3 parcels shipped, told by {"item":"lamp"}');
  expect(code).toBe(0);
});

test('actors-http.ts: smoke detectors sound the alarm, which a reminder ends', async () => {
  const { code, output } = await runToEnd('actors-http.ts');
  expect(output.split('\n')).toEqual([
    'First Floor: Ready, Second Floor: Ready',
    'First Floor: Alarm, Second Floor: Alarm',
    'the alarm ends',
    'First Floor: Ready, Second Floor: Ready',
    '',
  ]);
  expect(code).toBe(0);
});

test('bindings.ts: a meter keeps its readings outside, and goes on with them after a restart', async () => {
  const { code, output } = await runToEnd('bindings.ts');
  expect(output.split('\n')).toEqual([
    'started: 0 readings are kept, the meter shows 0 kWh',
    ...['kept 5 kWh', 'kept 10 kWh', 'ended with 2 readings'],
    'started: 2 readings are kept, the meter shows 10 kWh',
    ...['kept 15 kWh', 'kept 20 kWh', 'ended with 4 readings', ''],
  ]);
  expect(code).toBe(0);
});

test('node.ts: an application on a port tells its subscription and receives a message', async () => {
  const { code, output } = await runToEnd('node.ts');
  expect(output).toContain('received com.sidecar.event.sent: {"id":1}');
  expect(code).toBe(0);
});

test('express.ts: a handler that fails twice gets the message a third time', async () => {
  const { code, output } = await runToEnd('express.ts');
  expect(output).toContain('published: 204');
  expect(output).toContain('delivery 2 of order 1: not yet, answering 503');
  expect(output).toContain('delivery 3 of order 1: processed');
  expect(code).toBe(0);
});

test('koa.ts: an application receives what it publishes in code', async () => {
  const { code, output } = await runToEnd('koa.ts');
  expect(output).toContain('order taken: 202');
  expect(output).toContain('received {"id":1}');
  expect(output).toContain('health: 204, metadata without the token: 401');
  expect(code).toBe(0);
});

test('fetch.ts: a fetch application without a socket', async () => {
  const { code, output } = await runToEnd('fetch.ts');
  expect(output).toContain('published: 204');
  expect(output).toContain('received order 1');
  expect(code).toBe(0);
});

test('two-services.ts: one calls the other by name, in code and over HTTP, as far as it may', async () => {
  const { code, output } = await runToEnd('two-services.ts');
  expect(output).toContain('billing: shop charges order 1');
  expect(output).toContain('in code: 200 {"orderId":1,"charged":true}');
  expect(output).toContain('over HTTP: 200 {"orderId":2,"charged":true}');
  expect(output).toContain('not allowed: 403');
  expect(code).toBe(0);
});

test('durable.ts: what was not processed before a stop is delivered after the next start, at the next attempt', async () => {
  const { code, output } = await runToEnd('durable.ts');
  for (const id of [1, 2, 3]) {
    expect(output).toContain(`published order ${id}: it is on disk`);
    expect(output).toMatch(
      new RegExp(`received order ${id}: no lorry today.* stopped.*received order ${id}: shipped`, 's'),
    );
  }
  expect(output.match(/delivered at attempt 2/g)).toHaveLength(3);
  expect(code).toBe(0);
});

test('night.ts: dead letters nobody has subscribed to are explained, redelivered, mended and dropped', async () => {
  const { code, output } = await runToEnd('night.ts');
  expect(output).toContain('orders-failed → shop: 5 messages, 0 consumers');
  for (const id of [1, 2, 3, 5]) expect(output).toContain(`order ${id}: the bank does not answer, 3 attempts`);
  expect(output).toContain('order 4: the price is "4O.00", 3 attempts');
  expect(output).toContain('redelivered: 3');
  expect([...output.matchAll(/order (\d) is paid/g)].map(([, id]) => id).sort()).toEqual(['1', '3', '4', '5']);
  // The other group of the topic gets nothing twice.
  expect(output.match(/counted/g)).toHaveLength(5);
  expect(output).toContain('0 dead letters are left');
  expect(code).toBe(0);
});

test('inspector.ts: the management API tells why an order failed, and delivers it again', async () => {
  const { code, output } = await runToEnd('inspector.ts');
  expect(output).toContain('failed: the bank does not answer');
  expect(output).toContain('order 1 is paid');
  expect(code).toBe(0);
});

test('in-process-test.ts: two hours of retries on a virtual clock', async () => {
  const { code, output } = await runToEnd('in-process-test.ts');
  expect(output).toMatch(/4 deliveries and 1 dead letter, 2 hours later, in \d+ ms/);
  expect(code).toBe(0);
});

test('quickstart.ts: everything that should happen does, and it ends by itself', async () => {
  const { code, output } = await runToEnd('quickstart.ts');
  expect(output).toContain('dead-lettered  orders');
  expect(output).toContain('Everything happened as it should.');
  expect(output).not.toContain('\u001b[');
  expect(code).toBe(0);
});

test('quickstart.ts --serve: stays up, and takes a free port when its own is taken', async () => {
  const blocker = createServer().listen(3500, '127.0.0.1');
  await new Promise<void>((resolve) => {
    blocker.once('listening', resolve);
    // Somebody else has the port already, which serves as well.
    blocker.once('error', () => resolve());
  });
  onTestFinished(() => void blocker.close());

  const { child, output } = run('quickstart.ts', '--serve');
  await expect.poll(output, { timeout: 15_000 }).toContain('/v1.0/metadata\n');
  expect(output()).toContain('port 3500 is taken: using a free one');
  const [, url = ''] = /curl (\S+)\/v1\.0\/metadata/.exec(output()) ?? [];
  expect((await fetch(`${url}/v1.0/healthz`)).status).toBe(204);
  const [, inspector = '', token = ''] = /Inspector: (\S+)\?token=(\S+)/.exec(output()) ?? [];
  const api = async (path: string): Promise<string> =>
    (await fetch(`${inspector}api/v1/${path}`, { headers: { authorization: `Bearer ${token}` } })).text();
  await expect.poll(() => api('dead-letters'), { timeout: 15_000 }).toContain('"topic":"payments"');
  await expect.poll(() => api('jobs'), { timeout: 15_000 }).toContain('the printer has no paper');
  await expect.poll(() => api('workflows?status=FAILED'), { timeout: 15_000 }).toContain('order-3');
  await expect.poll(() => api('workflows?status=COMPLETED'), { timeout: 15_000 }).toContain('order-1');
  expect((await fetch(`${inspector}?token=${token}`)).status).toBe(200);
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([0, null]);
});
