// jsdom is a realm without setImmediate and TextDecoder, with timers and a Uint8Array of its own.
const { defineActivity, defineJob, defineWorkflow, durablePubSub, memoryPubSub, Sidecar } = require('insidecar');
const { virtualClock } = require('insidecar/testing');

test('messages, jobs and workflows run in virtual time', async () => {
  const clock = virtualClock();
  const components = [memoryPubSub('memory'), durablePubSub('durable')];
  const sidecar = new Sidecar({ appId: 'orders', components, clock });
  const seen = [];
  const add = defineActivity('add', async (number) => number + 1);
  const later = defineWorkflow('later', async (ctx, number) => {
    await ctx.sleep('1h');
    return ctx.callActivity(add, number);
  });
  sidecar.workflows.register(add, later);
  sidecar.register(defineJob('report', { schedule: '@every 1m' }, () => void seen.push('report')));
  await sidecar.start();
  for (const { name } of components) {
    await sidecar.pubsub.subscribe(name, 'orders', ({ data }) => void seen.push(data.id));
    await sidecar.pubsub.publish(name, 'orders', { id: name });
  }
  await clock.advance('1m');
  const run = await sidecar.workflows.start(later, 1);
  await clock.advance('2h');
  expect(await run.result()).toBe(2);
  expect(seen).toEqual(expect.arrayContaining(['memory', 'durable', 'report']));
  await sidecar.stop();
});

test('a call over the network says which environment it needs', async () => {
  const sidecar = new Sidecar({ appId: 'orders' });
  await sidecar.start();
  await expect(sidecar.invocation.invoke('http://127.0.0.1:9', 'x')).rejects.toThrow(
    'begin the test file with /** @jest-environment node */',
  );
  await sidecar.stop();
});
