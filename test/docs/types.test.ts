/** Every TypeScript example of the documents and of doc comments compiles against the declarations that are published. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ENTRIES, importOf } from '../../tools/entries.mjs';
import { codeOf, WORKFLOW_GUIDES } from './code-of-docs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = `${root}temp/docs-types`;

/** Their examples are one program, which another test checks and runs. */
const CHECKED_ELSEWHERE = new Set(WORKFLOW_GUIDES);
/** The examples of these are one program. */
const ONE_PROGRAM = new Set(['docs/migrating-from-queues.md']);

/** What examples take for granted: the rest of the reader's program. A new example may need a name more. */
const GIVEN = `
declare const app: any, broker: any, rest: object, hono: import('hono').Hono;
declare const key: string, secret: string, apiToken: string, shopPrivateKey: string, cartPublicKey: string, oldKey: string, newKey: string;
declare const expressApp: import('node:http').RequestListener;
declare const sidecar: import('insidecar').Sidecar, server: import('node:http').Server;
declare function send(mail: object, signal: AbortSignal): Promise<void>;
declare function alarm(...details: unknown[]): void;
declare function ship(order: unknown, signal: AbortSignal): Promise<void>;
declare function sendReport(to: string): Promise<void>;
declare function remind(...details: unknown[]): Promise<void>;
declare function insert(rows: readonly unknown[]): Promise<void>;
declare function count(click: object): Promise<void>;
declare function apply(...values: unknown[]): void;
declare function makeReport(): Promise<void>;
declare function startMyBroker(): Promise<unknown>;
declare function openMyComponent(...parts: unknown[]): Promise<import('insidecar/kit').PubSubComponent>;
declare function openMyStore(...parts: unknown[]): Promise<import('insidecar/kit').StateStore>;
declare function openMyKeyValueStore(...parts: unknown[]): Promise<import('insidecar/kit').KeyValueStore>;
declare const mountMyAdapter: import('insidecar/kit').MountAdapter;
declare const mine: { can: readonly import('insidecar/kit').StoreNeed[]; emptyPlace(): string; open(place: string): Promise<import('insidecar/kit').StateStore> };
`;

/** The modules whose names examples use without the import, by the report of what they export. */
const MODULES: readonly (readonly [module: string, exported: ReadonlySet<string>])[] = [
  ...Object.keys(ENTRIES).map((name) => [importOf(name), exportsIn(importOf(name).replace('/', '-'))] as const),
  ['node:http', new Set(['createServer'])],
  ['vitest', new Set(['expect', 'test'])],
];

function exportsIn(report: string): ReadonlySet<string> {
  const text = readFileSync(`${root}etc/${report}.api.md`, 'utf8');
  const names = text.matchAll(/^export (?:abstract )?(?:class|const|function|interface|type) (\w+)/gm);
  return new Set([...names].map(([, name = '']) => name));
}

/** The imports that an example leaves out, by module. */
function leftOut(place: string, example: string): readonly (readonly [module: string, names: readonly string[]])[] {
  const { imports, body } = partsOf(example);
  const used = new Set(body.match(/\b\w+\b/g));
  for (const imported of imports.join().match(/\b\w+\b/g) ?? []) used.delete(imported);
  // A comment means the names of its own entry point.
  const isOwn = (module: string): boolean => place.startsWith(`src/${module.slice('insidecar/'.length)}/`);
  return [...MODULES.filter(([module]) => isOwn(module)), ...MODULES].flatMap(([module, exported]) => {
    const names = [...used].filter((name) => exported.has(name));
    for (const name of names) used.delete(name);
    return names.length > 0 ? [[module, names] as const] : [];
  });
}

function partsOf(example: string): { readonly imports: readonly string[]; readonly body: string } {
  const imports = example.match(/^import [^;]+;$/gm) ?? [];
  return { imports, body: imports.reduce((text, line) => text.replace(line, ''), example) };
}

/** An example as a module: its imports, those that it leaves out, and the rest as a function. */
function moduleOf(place: string, example: string): string {
  const { imports, body } = partsOf(example);
  const left = leftOut(place, example).map(([module, names]) => `import { ${names.join(', ')} } from '${module}';`);
  return [...imports, ...left, GIVEN, 'export async function example() {', body, '}\n'].join('\n');
}

function examplesOf(document: string): string[] {
  const examples = codeOf(document);
  return ONE_PROGRAM.has(document) ? [examples.join('\n')] : examples;
}

/** Examples by their place. */
type Examples = readonly (readonly [place: string, code: string])[];

function inDocuments(): Examples {
  const documents = ['README.md', ...readdirSync(`${root}docs`).map((file) => `docs/${file}`)];
  return documents
    .filter((document) => document.endsWith('.md') && !CHECKED_ELSEWHERE.has(document))
    .flatMap((document) => examplesOf(document).map((code, index) => [`${document}-${index + 1}`, code] as const));
}

/** The `@example`s of doc comments. */
function inComments(): Examples {
  const sources = (readdirSync(`${root}src`, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'));
  return sources.flatMap((file) => {
    const found = readFileSync(`${root}src/${file}`, 'utf8').matchAll(/@example\s*\*\s*```ts\n(.*?)```/gs);
    return [...found].map(
      ([, code = ''], index) => [`src/${file}-${index + 1}`, code.replaceAll(/^ *\* ?/gm, '')] as const,
    );
  });
}

/** What the compiler says of examples. */
function problemsOf(examples: Examples): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [place, code] of examples)
    writeFileSync(`${folder}/${place.replaceAll('/', '-')}.ts`, moduleOf(place, code));
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    types: ['node'],
    strict: true,
    // The strictest setting that readers may have.
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    experimentalDecorators: true,
  };
  const lib = ['es2023', 'esnext.disposable'];
  const config = { compilerOptions: { ...compilerOptions, lib, skipLibCheck: true }, include: ['*.ts'] };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
  const { stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder], {
    cwd: root,
    encoding: 'utf8',
  });
  return stdout;
}

test('every example of the documents compiles', () => {
  const examples = inDocuments();
  expect(problemsOf(examples)).toBe('');
  expect(examples.length).toBeGreaterThan(30);
});

test('an example of the documents that imports something imports all of this package that it makes', () => {
  const incomplete = inDocuments().flatMap(([place, code]) => {
    if (!/^import /m.test(code)) return [];
    const made = code.replaceAll(/\/\/.*|`[^`]*`/g, '');
    const missing = leftOut(place, made).flatMap(([module, names]) => (module.startsWith('insidecar') ? names : []));
    return missing.filter((name) => new RegExp(`(?<![@.])\\b${name}\\(`).test(made)).map((name) => `${place}: ${name}`);
  });
  expect(incomplete).toEqual([]);
});

test('every example of a doc comment compiles', () => {
  const examples = inComments();
  expect(problemsOf(examples)).toBe('');
  expect(examples.length).toBeGreaterThan(70);
});
