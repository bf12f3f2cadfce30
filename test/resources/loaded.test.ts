import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SHARED_BY_TECHNOLOGIES, TECHNOLOGIES } from '../../tools/entries.mjs';
import { directoryWith } from './files.ts';

const BUILT = fileURLToPath(new URL('../../dist/resources.cjs', import.meta.url));

/** Which files of the package, and which packages, have been loaded once a component of this type is read. */
async function loadedFor(type: string, metadata: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const items = Object.entries(metadata).map(([name, value]) => ({ name, value }));
  const spec = { type, version: 'v1', metadata: items };
  const resource = { apiVersion: 'dapr.io/v1alpha1', kind: 'Component', metadata: { name: 'pubsub' }, spec };
  const directory = await directoryWith({ 'component.yaml': JSON.stringify(resource) });
  const file = join(directory, 'component.yaml');
  const code = `
    const { loadResources } = require(${JSON.stringify(BUILT)});
    loadResources([${JSON.stringify(file)}], { appId: 'shop' }).then(({ options }) =>
      console.log(JSON.stringify([options.components.length, ...Object.keys(require.cache)])));`;
  const [components, ...loaded] = JSON.parse(execFileSync(process.execPath, ['-e', code], { encoding: 'utf8' })) as [
    number,
    ...string[],
  ];
  expect(components).toBe(1);
  const names = loaded.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path.replace(/^.*\//, ''));
  return [...new Set(names)];
}

const COSTLY = new Set([
  'ajv',
  ...Object.entries({ ...TECHNOLOGIES, ...SHARED_BY_TECHNOLOGIES })
    .flat()
    .map((name) => `${name}.cjs`),
]);

test.each([
  ['pubsub.in-memory', {}, []],
  ['pubsub.redis', { redisHost: 'localhost:6379' }, ['redis-store.cjs', 'remote-store.cjs']],
])('a component file of type %s loads nothing of the others', async (type, metadata, expected) => {
  const loaded = (await loadedFor(type, metadata)).filter((name) => COSTLY.has(name));
  expect(loaded.filter((name) => name !== 'broker.cjs').sort()).toEqual(expected);
});
