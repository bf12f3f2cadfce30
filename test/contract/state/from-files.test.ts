import { expect, test } from 'vitest';
import { Sidecar, type SidecarOptions } from '../../../src/index.ts';
import { directoryWith, load, problemsOf } from '../../resources/files.ts';
import { RecordingLogger } from '../../support/logger.ts';

const component = (name: string, type: string, metadata = '', rest = ''): string => `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: ${name}
spec:
  type: ${type}
  version: v1
  metadata: [${metadata}]
${rest}`;

const documents = (...all: readonly string[]): string => all.join('---\n');

async function start(options: SidecarOptions): Promise<Sidecar> {
  const sidecar = new Sidecar({ appId: 'orders', logger: new RecordingLogger(), ...options });
  await sidecar.start();
  return sidecar;
}

const KEY = '0123456789abcdef0123456789abcdef';

test('state.in-memory is a store, and the only one is the state of the sidecar', async () => {
  const { options } = await load(component('store', 'state.in-memory', '{name: keyPrefix, value: none}'));
  await using sidecar = await start(options);
  await sidecar.state.set('store', 'a', 1);
  expect((await sidecar.state.get('store', 'a'))?.value).toBe(1);
  const { components } = sidecar.metadata.get();
  expect(components).toEqual([
    {
      ...{ name: 'store', type: 'state.in-memory', version: 'v1' },
      capabilities: ['ETAG', 'TRANSACTION', 'TTL', 'QUERY_API', 'ACTOR'],
    },
  ]);
});

test('state.sqlite keeps values over a restart, beside a store in memory, which does not', async () => {
  const path = await directoryWith({});
  const yaml = documents(
    component('disk', 'state.sqlite', `{name: path, value: ${JSON.stringify(path)}}`),
    component('cache', 'state.in-memory'),
  );
  const { options } = await load(yaml);
  expect(options).not.toHaveProperty('state');
  {
    await using sidecar = await start(options);
    await sidecar.state.set('disk', 'a', 1);
    await sidecar.state.set('cache', 'a', 1);
  }
  const again = await load(yaml);
  await using sidecar = await start(again.options);
  expect((await sidecar.state.get('disk', 'a'))?.value).toBe(1);
  expect(await sidecar.state.get('cache', 'a')).toBeUndefined();
});

test('of several, the one for actors is the state of the sidecar', async () => {
  const path = await directoryWith({});
  const actors = '{name: actorStateStore, value: "true"}';
  const { options } = await load(
    documents(
      component('disk', 'state.sqlite', `{name: path, value: ${JSON.stringify(path)}}, ${actors}`),
      component('cache', 'state.in-memory'),
    ),
  );
  await using sidecar = await start(options);
  await sidecar.state.set('disk', 'a', 1);
  const { components, state } = sidecar.metadata.get();
  expect(state).toMatchObject({ durability: 'synced' });
  expect(components.map(({ name, capabilities }) => [name, capabilities.includes('ACTOR')])).toEqual([
    ['disk', true],
    ['cache', false],
  ]);
});

test('encryption keys come from secrets, and have their names', async () => {
  const secrets = component('secrets', 'secretstores.local.env');
  const yaml = component(
    'store',
    'state.in-memory',
    '{name: primaryEncryptionKey, secretKeyRef: {name: STATE_KEY, key: STATE_KEY}}',
    'auth: {secretStore: secrets}\n',
  );
  const { options } = await load(documents(secrets, yaml), { environment: { STATE_KEY: KEY } });
  await using sidecar = await start(options);
  await sidecar.state.set('store', 'a', { n: 1 });
  expect((await sidecar.state.get('store', 'a'))?.value).toEqual({ n: 1 });
  expect(JSON.stringify(sidecar.settings())).not.toContain(KEY);
});

test.each([
  [`{name: primaryEncryptionKey, value: ${KEY}}`, /primaryEncryptionKey must be a secretKeyRef/],
  ['{name: keyPrefix, value: "a||b"}', /keyPrefix must be a word without \|\|/],
  ['{name: outboxPublishTopic, value: orders}', /outboxPublishPubsub and outboxPublishTopic belong together/],
])('%s stops the start', async (metadata, problem) => {
  const problems = await problemsOf(component('store', 'state.in-memory', metadata));
  expect(problems).toEqual([expect.stringMatching(problem)]);
  expect(problems.join()).not.toContain(KEY);
});

test('the outbox publishes to the pub/sub of the files', async () => {
  const outbox = '{name: outboxPublishPubsub, value: pubsub}, {name: outboxPublishTopic, value: orders}';
  const { options } = await load(
    documents(component('store', 'state.in-memory', outbox), component('pubsub', 'pubsub.in-memory')),
  );
  await using sidecar = await start(options);
  let deliver: (data: unknown) => void = () => undefined;
  const event = new Promise((resolve) => {
    deliver = resolve;
  });
  await sidecar.pubsub.subscribe('pubsub', 'orders', ({ data }) => deliver(data));
  await sidecar.state.transact('store', [{ operation: 'upsert', key: 'a', value: { n: 1 } }]);
  expect(await event).toEqual({ n: 1 });
});
