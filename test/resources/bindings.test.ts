import { describe, expect, test } from 'vitest';
import type { BindingDefinition } from '../../src/index.ts';
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

test("another type of Dapr's is named as one", async () => {
  expect((await problemsOf(component('aws.s3', {}))).join()).toContain("one of Dapr's that insidecar does not have");
});
