/** What the package exports: nothing twice, and nothing that no guide tells of and no other declaration needs. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { ENTRIES, importOf } from '../tools/entries.mjs';

const root = new URL('../', import.meta.url).pathname;

/** The names that Dapr's JavaScript SDK has for workflows, which some of ours are, too. */
const NAMES_OF_DAPR = ['EventTimeoutError', 'TaskFailedError', 'WorkflowContext', 'WorkflowState'];

/** The exports of an entry, by name, and where each is declared. */
function exportsOf(source: string): Map<string, string> {
  const text = withoutComments(readFileSync(join(root, source), 'utf8'));
  const found = new Map<string, string>();
  for (const [, list = '', from] of text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?;/gm))
    for (const one of list.split(',').filter((name) => name.trim() !== '')) {
      const [declared = '', as = declared] = one
        .trim()
        .replace(/^type /, '')
        .split(' as ');
      found.set(as, `${from === undefined ? imported(text, declared) : from} ${declared}`);
    }
  for (const [, name = ''] of text.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm))
    found.set(name, `${source} ${name}`);
  for (const [name, place] of found) if (place.startsWith('.')) found.set(name, join(dirname(source), place));
  return found;
}

function imported(text: string, name: string): string {
  const [, from = ''] = new RegExp(`\\b${name}\\b[^;]*\\} from '([^']+)';`).exec(text) ?? [];
  return from;
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

function textsOf(folder: string, form: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => form.test(file) && !file.startsWith('api/'))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'));
}

const entries = Object.entries(ENTRIES).map(([entry, source]) => ({ entry, exported: exportsOf(source) }));
const all = entries.flatMap(({ entry, exported }) =>
  [...exported].map(([name, place]) => ({ entry: importOf(entry), name, place })),
);

test('the exports are found', () => {
  expect(all).toContainEqual({ entry: 'insidecar', name: 'Sidecar', place: 'src/sidecar/sidecar.ts Sidecar' });
  expect(all).toContainEqual({
    entry: 'insidecar/kit',
    name: 'StateStore',
    place: 'src/state/store.ts StateStore',
  });
  expect(all.map(({ name }) => name)).toContain('redisState');
});

test('no entry exports what another one does', () => {
  const twice = all.filter(({ place }) => all.filter((other) => other.place === place).length > 1);
  expect(twice).toEqual([]);
});

test('no two exports have one name, but for those of the SDK of Dapr', () => {
  const names = all.filter(({ entry, name }) => !(entry === 'insidecar/dapr' && NAMES_OF_DAPR.includes(name)));
  const twice = names.filter(({ name }) => names.filter((other) => other.name === name).length > 1);
  expect(twice).toEqual([]);
});

test('a guide tells of every export, or another declaration needs it', () => {
  const guides = [readFileSync(join(root, 'README.md'), 'utf8'), ...textsOf('docs', /\.md$/)].join('\n');
  const declarations = textsOf('dist/types', /\.d\.ts$/)
    .map(withoutComments)
    .map((text) => text.replaceAll(/^(?:import|export) (?:type )?\{[^}]*\}[^;]*;$/gm, ''))
    .join('\n');
  const count = (text: string, form: string): number => text.match(new RegExp(`\\b${form}\\b`, 'g'))?.length ?? 0;
  const isNeeded = ({ name }: { readonly name: string }): boolean =>
    count(guides, name) > 0 ||
    count(declarations, name) > count(declarations, `(?:function|const|class|interface|type) ${name}`);
  expect(all.filter((one) => !isNeeded(one))).toEqual([]);
});

/** The types of the API reports that have a method, as `Type.method`, and what each extends. */
function methodsNamed(form: RegExp): { readonly method: string; readonly head: string }[] {
  const found: { method: string; head: string }[] = [];
  for (const report of textsOf('etc', /\.api\.md$/)) {
    let head = '';
    for (const line of report.split('\n')) {
      if (/^export (?:abstract )?(?:class|interface) /.test(line)) head = line;
      const [, name] = /^ {4}(\w+)\??[(<]/.exec(line) ?? [];
      const [, type] = /(?:class|interface) (\w+)/.exec(head) ?? [];
      if (name !== undefined && form.test(name)) found.push({ method: `${type}.${name}`, head });
    }
  }
  return found;
}

/** Pairs of the field, and the names of the SDK of Dapr: see CONTRIBUTING.md. */
const OTHER_WORDS = ['Sidecar.stop', 'Lock.unlock', 'Locks.unlock', 'LockStore.unlock', 'Timer.cancel'];
const WORDS_OF_DAPR = ['DaprWorkflowClient.stop', 'WorkflowRuntime.stop'];
/** What programs and authors of components make, and only the sidecar closes. */
const CLOSED_BY_US = ['ClosableServer', 'ComponentSubscription', 'ConfigurationWatch', 'MountedAdapter', 'OpenStore'];

test('what has a lifetime ends with close, but for pairs of the field', () => {
  const others =
    /^(?:stop|end|shutdown|destroy|dispose|release|restore|unlock|un[a-z]+|detach|leave|abort|quit|cancel)$/;
  const isStored = (method: string): boolean => /^Workflow(?:s|Run|Bulk)\./.test(method);
  const found = methodsNamed(others).map(({ method }) => method);
  expect(found.filter((method) => !isStored(method)).sort()).toEqual([...OTHER_WORDS, ...WORDS_OF_DAPR].sort());
});

test('what has close is a Disposable, but for what only the sidecar closes', () => {
  const bare = methodsNamed(/^close$/).filter(({ head }) => !head.includes('Disposable'));
  const expected = [...CLOSED_BY_US, 'PubSubComponent'].map((type) => `${type}.close`);
  expect(bare.map(({ method }) => method).sort()).toEqual(expected.sort());
});
