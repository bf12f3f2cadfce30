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

test("another type of Dapr's is named as one", async () => {
  expect((await problemsOf(component('aws.s3', {}))).join()).toContain("one of Dapr's that insidecar does not have");
});
