import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, SourceMap, type SourceMapPayload, type SourceMapping } from 'node:module';
import { expect, test } from 'vitest';
import { ENTRIES, importOf } from '../tools/entries.mjs';

const require = createRequire(import.meta.url);
const { exports, typesVersions } = require('../package.json') as {
  readonly exports: Record<string, unknown>;
  readonly typesVersions: { readonly '*': Record<string, unknown> };
};

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

test.each(Object.keys(ENTRIES))('the entry point %s is named where it has to be', (name) => {
  const textOf = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  if (name !== 'index') {
    expect(exports).toHaveProperty([`./${name}`]);
    expect(typesVersions['*']).toHaveProperty([name]);
  }
  expect(textOf('test/package/consumer.mts')).toContain(`from '${importOf(name)}';`);
  expect(textOf('docs/README.md')).toContain(`docs/api/${importOf(name).replace('/', '-')}.md`);
});

test('what is built is ASCII: for one character beyond, V8 keeps two bytes for each of a file', () => {
  const dist = new URL('../dist/', import.meta.url);
  // The page of the inspector is sent as it is, and loaded by few.
  const files = readdirSync(dist).filter((file) => file.endsWith('.cjs') && file !== 'inspector-assets.cjs');
  const beyond = files.filter((file) => /[^\p{ASCII}]/u.test(readFileSync(new URL(file, dist), 'utf8')));
  expect(beyond).toEqual([]);
});

test('a source map finds file and line of the source, from anywhere in a line', () => {
  const linesOf = (path: string): readonly string[] =>
    readFileSync(new URL(`../${path}`, import.meta.url), 'utf8').split('\n');
  const map = new SourceMap(JSON.parse(linesOf('dist/base.cjs.map').join('')) as SourceMapPayload);
  const written = 'super(message, ';
  const built = linesOf('dist/base.cjs');
  const line = built.findIndex((text) => text.includes(written));
  for (const column of [0, built[line]?.indexOf('(message'), built[line]?.length]) {
    const { originalSource, originalLine } = map.findEntry(line, column ?? 0) as SourceMapping;
    expect(originalSource).toMatch(/src\/errors\.ts$/);
    expect(linesOf('src/errors.ts')[originalLine]).toContain(written);
  }
});
