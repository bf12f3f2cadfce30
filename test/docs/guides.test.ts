/** What the documents for those who change the code name is there: files, functions, scripts, links. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const GUIDES = ['docs/architecture.md', 'CONTRIBUTING.md', 'test/README.md'];
/** These are not packed, so that test/docs/links.test.ts leaves them out. */
const NOT_PACKED = ['CONTRIBUTING.md', 'test/README.md', 'bench/README.md'];

function textOf(path: string): string {
  return readFileSync(root + path, 'utf8');
}

function codeSpansOf(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

const sources = ['src', 'test'].flatMap((folder) => readdirSync(root + folder, { recursive: true }) as string[]);

/** Whether a path is there: from the root, beside the document, in `src`; a name alone anywhere in `src` and `test`. */
function isThere(document: string, path: string): boolean {
  if (['', `${posix.dirname(document)}/`, 'src/'].some((from) => existsSync(root + from + path))) return true;
  return !path.includes('/') && sources.some((source) => posix.basename(source) === path);
}

/** Code that can only be the name of a file. */
const FILE = /^\w[\w.-]*(?:\/[\w.-]+)*\.(?:ts|mjs|json|md)$|^(?:[\w.-]+\/){2,}[\w.-]*$/;

test.each(GUIDES)('every file that %s names is there', (document) => {
  const named = codeSpansOf(textOf(document)).filter((code) => FILE.test(code));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !isThere(document, path))).toEqual([]);
});

test.each(NOT_PACKED)('every relative link of %s leads to a file', (document) => {
  const links = [...textOf(document).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)].map(([, link = '']) => link);
  const relative = links.filter((link) => !link.startsWith('https://'));
  const lost = relative.filter((link) => !existsSync(posix.join(root, posix.dirname(document), link)));
  expect(lost).toEqual([]);
});

test.each(['CONTRIBUTING.md', 'test/README.md'])('every script that %s names is in package.json', (document) => {
  const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
  const named = [...textOf(document).matchAll(/(?:^|`)npm (?:run )?(?:--[a-z]+ )*([a-z][a-z:]*)/gm)].map(
    ([, name = '']) => name,
  );
  const others = new Set(['audit', 'ci', 'install', 'pack', 'publish', 'version', 'view']);
  expect(named.filter((name) => !others.has(name) && scripts[name] === undefined)).toEqual([]);
});

describe('docs/architecture.md', () => {
  const text = textOf('docs/architecture.md');

  test('has a row for every folder of src, or for those in it', () => {
    const folders = readdirSync(`${root}src`).filter((name) => statSync(`${root}src/${name}`).isDirectory());
    const rows = [...text.matchAll(/^\| (`[^|]*\/`) \|/gm)].map(([, cell = '']) => cell).join();
    expect(folders.filter((folder) => !rows.includes(`\`${folder}/`))).toEqual([]);
  });

  test('names functions that their files have', () => {
    const rows = [...text.matchAll(/^\| `([\w./-]+\.ts)` \| ([^|]+) \|/gm)];
    expect(rows.length).toBeGreaterThan(40);
    const missing = rows.flatMap(([, file = '', cell = '']) => {
      const source = textOf(`src/${file}`);
      const isMade = (name: string): boolean => new RegExp(`(?:^|[^\\w#])${name}(?:<[^(]*>)?\\(`, 'm').test(source);
      return codeSpansOf(cell).flatMap((name) => (isMade(name) ? [] : `${file}: ${name}`));
    });
    expect(missing).toEqual([]);
  });
});
