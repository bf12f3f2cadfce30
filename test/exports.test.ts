import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';

const require = createRequire(import.meta.url);
const { exports } = require('../package.json') as { readonly exports: Record<string, unknown> };

interface Entry {
  readonly import: { readonly default: string };
  readonly require: { readonly default: string; readonly types: string };
}

const isEntry = (entry: unknown): entry is Entry => typeof entry === 'object';

test.each(Object.values(exports).filter(isEntry))('$require.default exports what its source does', async (entry) => {
  const source = entry.require.types.replace('./dist/types/', '../src/').replace(/\.d\.ts$/, '.ts');
  const expected = Object.keys(await import(source)).sort();
  const required: object = require(`../${entry.require.default}`);
  const imported: object = await import(new URL(`../${entry.import.default}`, import.meta.url).href);
  expect(Object.keys(required).sort()).toEqual(expected);
  expect(Object.keys(imported).sort()).toEqual(expected);
});

test('what is built is ASCII: for one character beyond, V8 keeps two bytes for each of a file', () => {
  const dist = new URL('../dist/', import.meta.url);
  // The page of the inspector is sent as it is, and loaded by few.
  const files = readdirSync(dist).filter((file) => file.endsWith('.cjs') && file !== 'inspector-assets.cjs');
  const beyond = files.filter((file) => /[^\p{ASCII}]/u.test(readFileSync(new URL(file, dist), 'utf8')));
  expect(beyond).toEqual([]);
});
