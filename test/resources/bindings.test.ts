import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { BindingDefinition } from '../../src/kit/index.ts';
import { load, problemsOf } from './files.ts';

const component = (type: string, metadata: Readonly<Record<string, string>>): string => `apiVersion: dapr.io/v1alpha1
kind: Component
metadata: { name: bound }
spec:
  type: bindings.${type}
  version: v1
  metadata: ${JSON.stringify(Object.entries(metadata).map(([name, value]) => ({ name, value })))}
`;

async function made(type: string, metadata: Readonly<Record<string, string>>): Promise<BindingDefinition> {
  const { options } = await load(component(type, metadata));
  return options.components?.find(({ name }) => name === 'bound') as BindingDefinition;
}

describe('bindings.cron', () => {
  test.each(['@every 15m', '*/5 * * * *', '0 */5 * * * *', 'TZ=Europe/Rome @daily'])('takes %s', async (schedule) => {
    expect(await made('cron', { schedule })).toMatchObject({
      type: 'bindings.cron',
      directions: ['input'],
      options: {},
    });
  });

  test('direction and route', async () => {
    const { options } = await made('cron', { schedule: '@hourly', direction: 'Input, output', route: 'clean' });
    expect(options).toEqual({ direction: ['input', 'output'], route: '/clean' });
  });

  test.each([
    [{}, 'bindings.cron needs metadata schedule'],
    [{ schedule: '0 0 30 2 *' }, 'it has no tick'],
    [{ schedule: 'tomorrow' }, 'metadata schedule: '],
    [{ schedule: '@hourly', direction: 'inwards' }, 'metadata direction must be'],
    [{ schedule: '@hourly', route: '/a b' }, 'metadata route must be'],
  ])('refuses %o', async (metadata, problem) => {
    expect((await problemsOf(component('cron', metadata as never))).join()).toContain(problem);
  });
});

describe('bindings.http', () => {
  test('takes the names of Dapr', async () => {
    const definition = await made('http', {
      url: 'https://a.example',
      errorIfNot2XX: 'false',
      responseTimeout: '5s',
      maxResponseBodySize: '10Mi',
      securityToken: 'secret',
      securityTokenHeader: 'X-Token',
    });
    expect(definition).toMatchObject({ type: 'bindings.http', directions: ['output'] });
    expect(definition.operations).toContain('create');
  });

  test('certificates may be files', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'insidecar-binding-'));
    await writeFile(join(directory, 'ca.pem'), '-----BEGIN CERTIFICATE-----\n');
    const url = 'https://a.example';
    expect(await made('http', { url, MTLSRootCA: join(directory, 'ca.pem') })).toBeDefined();
    const [problem = ''] = await problemsOf(component('http', { url, MTLSRootCA: join(directory, 'none.pem') }));
    expect(problem).toContain('MTLSRootCA must be in PEM, or the path of such a file (ENOENT)');
    expect(problem).not.toContain(directory);
  });

  test.each([
    [{}, 'bindings.http needs metadata url'],
    [{ url: 'ftp://user:hidden@a.example' }, 'metadata url must be'],
    [{ url: 'http://a', responseTimeout: 'soon' }, 'metadata responseTimeout must be'],
    [{ url: 'http://a', maxResponseBodySize: 'much' }, 'metadata maxResponseBodySize must be'],
    [{ url: 'http://a', securityToken: 'hidden' }, 'securityToken and securityTokenHeader belong together'],
    [{ url: 'http://a', securityToken: 'hidden', securityTokenHeader: 'a b' }, 'metadata securityTokenHeader must be'],
    [{ url: 'http://a', MTLSClientCert: 'hidden' }, 'MTLSClientCert and MTLSClientKey belong together'],
  ])('refuses %o', async (metadata, problem) => {
    const problems = (await problemsOf(component('http', metadata as never))).join();
    expect(problems).toContain(problem);
    expect(problems).not.toContain('hidden');
  });
});

describe('bindings.postgresql', () => {
  test.each(['postgresql', 'postgres'])('%s: url stands for connectionString', async (type) => {
    const definition = await made(type, { url: 'host=db.internal user=app dbname=shop', timeout: '5s', maxConns: '8' });
    expect(definition).toMatchObject({ type: `bindings.${type}`, operations: ['exec', 'query', 'close'] });
  });

  test.each([
    [{}, 'bindings.postgresql needs metadata connectionString'],
    [{ url: 'nonsense hidden' }, 'metadata connectionString must be'],
    [{ url: 'host=a', maxConns: '1000' }, 'metadata maxConns must be'],
  ])('refuses %o', async (metadata, problem) => {
    const problems = (await problemsOf(component('postgresql', metadata as never))).join();
    expect(problems).toContain(problem);
    expect(problems).not.toContain('hidden');
  });
});

describe('bindings.localstorage', () => {
  test('takes a directory', async () => {
    const metadata = { rootPath: 'files', maxFileBytes: '1Mi' };
    expect(await made('localstorage', metadata)).toMatchObject({ operations: ['create', 'get', 'list', 'delete'] });
  });

  test.each([
    [{}, 'bindings.localstorage needs metadata rootPath'],
    [{ rootPath: 'a', maxFileBytes: 'all' }, 'metadata maxFileBytes must be a size'],
  ])('refuses %o', async (metadata, problem) => {
    expect((await problemsOf(component('localstorage', metadata as never))).join()).toContain(problem);
  });

  test('ignoreErrors goes along', async () => {
    const { options } = await load(
      component('localstorage', { rootPath: 'a' }).replace('version: v1', 'version: v1\n  ignoreErrors: true'),
    );
    expect(options.components).toMatchObject([{ name: 'bound', ignoreErrors: true }]);
  });
});

describe('bindings of servers', () => {
  const mail = {
    host: 'smtp.internal',
    port: '25',
    user: 'u',
    password: 'hidden',
    emailTo: 'a@b.example; c@d.example',
  };
  const mqtt = { url: 'tcp://user:hidden@a:1883', topic: 'a/+', consumerID: 'c' };
  const rabbit = { host: 'amqp://user:hidden@a', queueName: 'q' };
  const kafka = { brokers: 'a:9092', topics: 'a, b', publishTopic: 'c', consumerGroup: 'g', authType: 'none' };

  test.each([
    ['smtp', { ...mail, skipTLSVerify: 'true', subject: 'Hello', priority: '1' }, ['output']],
    ['redis', { redisHost: 'a:6379', redisPassword: 'hidden' }, ['output']],
    [
      'mqtt3',
      { ...mqtt, qos: '1', retain: 'false', cleanSession: 'false', backOffMaxRetries: '3' },
      ['input', 'output'],
    ],
    ['mqtt', { ...mqtt, backOffMaxRetries: '-1', concurrency: '5' }, ['input', 'output']],
    ['rabbitmq', { ...rabbit, durable: 'true', deleteWhenUnused: 'false', maxPriority: '1000' }, ['input', 'output']],
    ['rabbitmq', { ...rabbit, exclusive: 'true', prefetchCount: '0', ttlInSeconds: '60' }, ['input', 'output']],
    ['kafka', kafka, ['input', 'output']],
  ])('takes %s with %o', async (type, metadata, directions) => {
    const definition = await made(type, { ...metadata, direction: directions.join() });
    expect(definition).toMatchObject({ type: `bindings.${type}`, directions, options: { direction: directions } });
  });

  test.each([
    ['smtp', {}, 'bindings.smtp needs metadata host'],
    ['smtp', { host: 'a', user: 'hidden' }, 'user and password belong together'],
    ['smtp', { host: 'a', emailTo: 'hidden' }, 'emailTo'],
    ['smtp', { host: 'a', port: '0' }, 'metadata port must be'],
    ['smtp', { host: 'a', priority: '9' }, 'metadata priority must be'],
    ['redis', {}, 'bindings.redis needs metadata redisHost'],
    ['mqtt3', { topic: 'a' }, 'bindings.mqtt3 needs metadata url'],
    ['mqtt3', { ...mqtt, topic: '' }, 'bindings.mqtt3 needs metadata topic'],
    ['mqtt3', { ...mqtt, consumerID: '' }, 'bindings.mqtt3 needs metadata consumerID'],
    ['mqtt3', { ...mqtt, url: 'http://hidden' }, 'metadata url must be like'],
    ['mqtt3', { ...mqtt, topic: 'a#' }, 'topic one that can be read'],
    ['mqtt3', { ...mqtt, qos: '0' }, 'which loses messages'],
    ['rabbitmq', { queueName: 'q' }, 'bindings.rabbitmq needs metadata host'],
    ['rabbitmq', { host: 'amqp://a' }, 'bindings.rabbitmq needs metadata queueName'],
    ['rabbitmq', { ...rabbit, host: 'http://hidden' }, 'metadata host must be like'],
    ['kafka', {}, 'bindings.kafka needs metadata brokers'],
    ['kafka', { brokers: 'a' }, 'bindings.kafka needs metadata authType'],
    ['kafka', { ...kafka, topics: 'a b' }, 'topics and publishTopic must be names of topics'],
    ['kafka', { ...kafka, concurrency: '0' }, 'metadata concurrency must be'],
  ])('refuses %s with %o', async (type, metadata, problem) => {
    const problems = (await problemsOf(component(type, metadata as never))).join();
    expect(problems).toContain(problem);
    expect(problems).not.toContain('hidden');
  });
});

test("another type of Dapr's is named as one", async () => {
  expect((await problemsOf(component('aws.s3', {}))).join()).toContain("one of Dapr's that insidecar does not have");
});
