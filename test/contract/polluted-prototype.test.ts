/** Another library of the process may have given all objects a field that can be enumerated. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { defineWorkflow, memoryPubSub, Sidecar } from '../../src/index.ts';
import { RecordingLogger } from '../support/logger.ts';

const all: Record<string, unknown> = Object.prototype as never;

beforeEach(() => {
  all['extra'] = () => 'of another library';
});
afterEach(() => {
  delete all['extra'];
});

test('options are accepted, and workflows run, when all objects have one more field', async () => {
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [memoryPubSub('pubsub')],
    logger: new RecordingLogger(),
    workflows: { retention: { completed: 60_000 } },
  });
  const flow = defineWorkflow('flow', (ctx, input: object) => ctx.waitForEvent('go').then(() => input));
  sidecar.workflows.register(flow);
  await sidecar.start();
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 }, { ttl: 60_000 });
  const run = await sidecar.workflows.start(flow, { id: 2 }, { instanceId: 'one' });
  await run.raise('go');
  expect(JSON.stringify(await run.result())).toBe('{"id":2}');
  await sidecar.stop();
});

/** A program that uses every block over the built package, and says what came of it. */
const PROGRAM = `
  EXTEND;
  const { defineJob, defineWorkflow, memoryPubSub, Sidecar } = require('./dist/index.cjs');
  const { virtualClock } = require('./dist/testing.cjs');
  const { equal, throws } = require('node:assert/strict');
  async function main() {
    throws(() => new Sidecar({ appId: 'shop', app: { port: 'x' } }), /^SidecarError: options.app.port must be/);
    const clock = virtualClock();
    const said = {};
    const app = { fetch: async (request) => new Response((said.invoked = await request.text())) };
    const sidecar = new Sidecar({ appId: 'shop', app, clock, components: [memoryPubSub('pubsub')] });
    const flow = defineWorkflow('flow', (ctx, input) => ctx.waitForEvent('go').then((event) => [input, event]));
    sidecar.workflows.register(flow);
    sidecar.register(defineJob('report', (data) => void (said.ran = data)));
    await sidecar.start();
    await sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => void (said.delivered = data));
    await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
    await sidecar.jobs.schedule('report', { schedule: '0 0 * * * *', repeats: 1, data: { id: 2 } });
    said.next = (await sidecar.jobs.get('report')).schedule;
    await clock.advance('1h');
    await sidecar.workflows.start(flow, { id: 3 }, { instanceId: 'one' });
    await sidecar.workflows.raiseEvent('one', 'go', { id: 4 });
    said.output = (await sidecar.workflows.run('one').ended()).output;
    equal((await sidecar.invocation.invoke('shop', 'x', { method: 'POST', body: { id: 5 } })).status, 200);
    await sidecar.stop();
    console.log(JSON.stringify(said));
  }
  void main();`;

test.each([
  ['a number', 'Object.prototype.extra = 1'],
  ['a text', "Object.prototype.extra = 'one'"],
  ['a function', 'Object.prototype.extra = () => 1'],
  [
    'an accessor',
    "Object.defineProperty(Object.prototype, 'extra', { get: () => 1, enumerable: true, configurable: true })",
  ],
])('the built package does the work of all blocks when all objects have %s more', async (_what, extend) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', PROGRAM.replace('EXTEND', extend)]);
  expect(JSON.parse(stdout.split('\n').at(-2) ?? '')).toEqual({
    invoked: '{"id":5}',
    delivered: { id: 1 },
    ran: { id: 2 },
    next: '0 0 * * * *',
    output: [{ id: 3 }, { id: 4 }],
  });
});
