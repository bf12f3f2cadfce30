/** Every link of the packed documents leads somewhere: to what is packed with them, a heading that there is, or a URL. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const packed = packedFiles();

function packedFiles(): readonly string[] {
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const [{ files }] = JSON.parse(said) as [{ readonly files: readonly { readonly path: string }[] }];
  return files.map(({ path }) => path);
}

function textOf(path: string): string {
  return readFileSync(root + path, 'utf8');
}

/** What is written outside of code. */
function proseOf(path: string): string {
  return textOf(path)
    .replaceAll(/^(```+)[\s\S]*?^\1$/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));
}

/** As GitHub names headings. */
function anchorsOf(path: string): ReadonlySet<string> {
  const headings = [...proseOf(path).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function problemOf(document: string, link: string): string | undefined {
  if (/^https:\/\//.test(link)) return undefined;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? document : posix.join(posix.dirname(document), path);
  const isFile = packed.includes(target);
  if (!isFile && !packed.some((file) => file.startsWith(`${target}/`))) return `${link}: ${target} is not packed`;
  if (anchor === undefined || (isFile && anchorsOf(target).has(anchor))) return undefined;
  return `${link}: no such heading`;
}

const documents = packed.filter((path) => path.endsWith('.md'));

test('all documents are packed', () => {
  expect(documents).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/http-api.md']));
});

test.each(documents)('every link of %s leads somewhere', (document) => {
  const links = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  expect(links.flatMap((link) => problemOf(document, link) ?? [])).toEqual([]);
});
