// Jest runs tests in a realm of their own, where what Node's own modules make is no instance of its classes, and loads
// every module itself. So the suites of the package, and what it loads late, are run there as well.
const { generateKeyPairSync } = require('node:crypto');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const insidecar = require('insidecar');
const { WorkflowRuntime } = require('insidecar/dapr');
const { embeddedState } = require('insidecar/embedded');
const { adapterConformance, stateStoreConformance, systemClock } = require('insidecar/kit');
const { loadResources } = require('insidecar/resources');
const { virtualClock } = require('insidecar/testing');

const { defineActivity, defineWorkflow, isSidecarError, memoryPubSub, nodeHandler, Sidecar } = insidecar;
const logger = { debug() {}, info() {}, warn() {}, error() {} };

// Some measure memory, which a process shares with its runner.
jest.retryTimes(2);

let places = [];
function emptyPlace() {
  places.push(mkdtempSync(join(tmpdir(), 'insidecar-jest-')));
  return places.at(-1);
}
let sidecars = [];
async function started(options) {
  const sidecar = new Sidecar({ appId: 'orders', logger, ...options });
  sidecars.push(sidecar);
  await sidecar.start();
  return sidecar;
}
afterEach(async () => {
  for (const sidecar of sidecars) await sidecar.stop();
  for (const place of places) rmSync(place, { recursive: true });
  sidecars = [];
  places = [];
});

describe('the embedded store', () => {
  const cases = stateStoreConformance.filter(({ needs = [] }) => !needs.includes('shared'));
  for (const { name, run } of cases) {
    test(name, () => {
      const path = join(emptyPlace(), 'state');
      return run(() => embeddedState({ path }).open({ clock: systemClock, logger }));
    });
  }
});

describe('the adapter of node:http', () => {
  const passedOn = (req, res) => {
    const chunks = [];
    req.on('data', (chunk) => chunks.push(chunk));
    req.on('end', () => res.writeHead(299).end(`${req.method} ${req.url} ${Buffer.concat(chunks)}`));
  };
  const mount = async (handler, options) => {
    const listener = nodeHandler(handler, options);
    const server = createServer((req, res) => listener(req, res, () => passedOn(req, res)));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    return { url: `http://127.0.0.1:${server.address().port}`, close };
  };
  for (const { name, needs = [], run } of adapterConformance) {
    if (needs.length === 0) test(name, () => run(mount));
  }
});

test('a message reaches a function as a CloudEvent', async () => {
  const clock = virtualClock();
  const sidecar = await started({ components: [memoryPubSub('pubsub')], clock });
  const received = [];
  await sidecar.pubsub.subscribe('pubsub', 'orders', (event) => void received.push(event));
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 1 });
  await clock.settled();
  expect(received.map(({ data, type }) => [data, type])).toEqual([[{ id: 1 }, 'com.sidecar.event.sent']]);
  expect(received[0]).toBeInstanceOf(require('cloudevents').CloudEvent);
});

test('a workflow completes, and one in generators', async () => {
  const sidecar = await started({ state: embeddedState({ path: join(emptyPlace(), 'state') }) });
  const double = defineActivity('double', (value) => value * 2);
  sidecar.workflows.register(
    defineWorkflow('sum', async (ctx, value) => (await ctx.callActivity(double, value)) + 1),
    double,
  );
  new WorkflowRuntime({ sidecar }).registerWorkflow(async function* old(ctx, value) {
    return (yield ctx.callActivity('double', value)) - 1;
  });
  for (const [name, output] of [
    ['sum', 5],
    ['old', 3],
  ]) {
    const run = await sidecar.workflows.start(name, 2);
    expect(await run.result()).toEqual(output);
  }
});

test('sidecars know each other by signed tokens', async () => {
  const pair = generateKeyPairSync('ed25519');
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const identity = { keys: [{ privateKey }] };
  const app = { fetch: (request) => new Response(request.headers.get('sidecar-caller-app-id')) };
  const callee = await started({ appId: 'billing', app, identity });
  const server = createServer(nodeHandler(callee)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const billing = [`http://127.0.0.1:${server.address().port}`];
  const caller = await started({ appId: 'shop', identity, nameResolution: { static: { billing } } });
  const reply = await caller.invocation.invoke('billing', 'who');
  expect([reply.status, await reply.text()]).toEqual([200, 'shop']);
  server.close();
  server.closeAllConnections();
});

test('an application that does not listen is told from one that fails', async () => {
  const sidecar = await started({ app: { port: 1, host: '127.0.0.1' } });
  const reason = await sidecar.invocation.invoke('orders', 'x').catch((error) => error);
  expect(isSidecarError(reason)).toBe(true);
  expect(reason.message).toMatch(/: connect ECONNREFUSED 127\.0\.0\.1:1$/);
  expect(sidecar.metadata.get().appConnectionProperties).toMatchObject({ port: 1 });
});

test('a wrong option is named, and so is a wrong resource file', async () => {
  expect(() => new Sidecar({ appId: 'orders', app: { port: 'x' } })).toThrow(/^options\.app\.port/);
  const place = emptyPlace();
  writeFileSync(join(place, 'latin1.yaml'), Buffer.from([0xe9, 0x0a]));
  await expect(loadResources([place], { appId: 'orders' })).rejects.toThrow(/it is not UTF-8/);
});

test('a rule is read, and a pattern that RE2 does not know refused', async () => {
  const route = (match) => ({ routes: { rules: [{ match, path: '/two' }], default: '/one' } });
  const subscription = { pubsubName: 'pubsub', topic: 'orders' };
  const components = [memoryPubSub('pubsub')];
  const paths = [];
  const app = { fetch: (request) => new Response(String(paths.push(new URL(request.url).pathname)).slice(1)) };
  const clock = virtualClock();
  const subscriptions = [{ ...subscription, ...route('event.data.id == 2') }];
  const sidecar = await started({ app, clock, components, subscriptions });
  await sidecar.pubsub.publish('pubsub', 'orders', { id: 2 });
  await clock.settled();
  expect(paths).toContain('/two');
  const refused = [];
  const unknown = [{ ...subscription, ...route("event.type.matches('(?=a)b')") }];
  const second = new Sidecar({ appId: 'orders', app, components, subscriptions: unknown, logger });
  second.events.on('subscriptionRefused', ({ reason }) => refused.push(reason));
  await second.start();
  await second.stop();
  expect(refused).toEqual([expect.stringMatching(/does not look around/)]);
});
