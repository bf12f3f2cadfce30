/** The documents name everything that the public types have: an event that is added has to be described. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PAGES } from '../../tools/pages.mjs';

const root = new URL('../../', import.meta.url);
const report = readFileSync(new URL('etc/insidecar.api.md', root), 'utf8');
const readme = readFileSync(new URL('README.md', root), 'utf8');
const documents = readdirSync(new URL('docs/', root))
  .filter((file) => file.endsWith('.md'))
  .map((file) => readFileSync(new URL(`docs/${file}`, root), 'utf8'))
  .join(readme);

/** The members of an exported interface. */
function membersOf(name: string): string[] {
  const [, body = ''] = new RegExp(`^export interface ${name}[^\\n]* \\{\\n(.*?)^\\}`, 'ms').exec(report) ?? [];
  const members = [...body.matchAll(/^ {4}(?:readonly )?(\w+)[?:(]/gm)].map(([, member = '']) => member);
  expect(members).not.toEqual([]);
  return members;
}

test.each(Object.entries(PAGES))('%s is what the comments of the sources make: npm run pages', (path, page) => {
  expect(readFileSync(new URL(path, root), 'utf8')).toBe(page());
});

test('every event is described', () => {
  expect(membersOf('SidecarEvents').filter((event) => !documents.includes(`\`${event}\``))).toEqual([]);
});

test('every error code is described', () => {
  const codes = new Set(report.match(/'ERR_[A-Z_]+'/g)?.map((code) => code.slice(1, -1)));
  expect(codes.size).toBeGreaterThan(30);
  expect([...codes].filter((code) => !documents.includes(code))).toEqual([]);
});
