import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseAllDocuments, stringify } from 'yaml';
import { isSidecarError } from '../../../src/errors.ts';
import { Sidecar } from '../../../src/index.ts';
import { checkResources, loadMultiApp, loadResources } from '../../../src/resources/index.ts';
import { hostileText, hostileValue, mutated, place } from '../hostile.ts';
import { TallyLogger } from '../log-tally.ts';
import { type Session, type Target, tryPortion } from '../portion.ts';
import { withDeadline } from '../with-deadline.ts';

const RUNS = 60;
const READING_MS = 5_000;
const DOCUMENTS = [
  'resources.md',
  'brokers.md',
  'redis-streams.md',
  'rabbitmq.md',
  'state-servers.md',
  'security.md',
  'access-control.md',
  'resiliency.md',
  'invocation.md',
  'telemetry.md',
  'cli.md',
  'scaling.md',
  'migrating-from-dapr.md',
];
const PIECES = [
  '\n',
  '  ',
  ': ',
  '- ',
  '&a ',
  '*a',
  '<<: ',
  '!!js/function ',
  '!!binary ',
  '|\n',
  '>',
  '---\n',
  '"',
  "'",
  '{',
  '[',
  '\t',
  '\u0000',
  '$HOME',
  '{uuid}',
  '%',
];

/** The YAML in the documents: every kind of resource is among it. */
function samples(): readonly string[] {
  const found: string[] = [];
  for (const name of DOCUMENTS) {
    const text = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
    for (const [, block = ''] of text.matchAll(/```ya?ml\n(.*?)```/gs)) found.push(block);
  }
  return found;
}

/** All names of the schema: keys, and values of which only some are allowed. */
function names(): readonly string[] {
  const found = new Set<string>();
  JSON.parse(
    readFileSync(new URL('../../../schemas/resources.schema.json', import.meta.url), 'utf8'),
    (key, value: unknown) => {
      if (/^[\w.-]+$/.test(key)) found.add(key);
      if (typeof value === 'string' && value.length < 60) found.add(value);
      return value;
    },
  );
  return [...found];
}

/** A change of one value or key of a tree. */
interface Graft {
  readonly at: number;
  readonly kind: 'replace' | 'remove' | 'add' | 'rename';
  readonly name: string;
  readonly value: unknown;
}

function grafted(text: string, grafts: readonly Graft[]): string {
  const trees = parseAllDocuments(text, { logLevel: 'silent' }).map((document) => document.toJS() as unknown);
  for (const { at, kind, name, value } of grafts) {
    const places: (readonly [parent: Record<string, unknown>, key: string])[] = [];
    const walk = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return;
      for (const key of Object.keys(node)) {
        places.push([node as Record<string, unknown>, key]);
        walk((node as Record<string, unknown>)[key]);
      }
    };
    for (const tree of trees) walk(tree);
    const [parent, key] = places[Math.floor(at * places.length)] ?? [];
    if (parent === undefined || key === undefined) continue;
    if (kind === 'add' && !Array.isArray(parent)) parent[name] = value;
    else if (kind === 'replace') parent[key] = value;
    else {
      if (kind === 'rename' && !Array.isArray(parent)) parent[name] = parent[key];
      delete parent[key];
    }
  }
  return trees.map((tree) => stringify(tree)).join('---\n');
}

/** Files with resources, and files with several applications. */
export const resources: Target = {
  name: 'resources',
  open: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'insidecar-fuzz-resources-'));
    const known = names();
    const sample = fc.constantFrom(...samples());
    const graft: fc.Arbitrary<Graft> = fc.record({
      at: place,
      kind: fc.constantFrom('replace', 'remove', 'add', 'rename'),
      name: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: hostileText }),
      value: fc.oneof(fc.constantFrom<unknown>(...known), hostileValue),
    });
    const changed = fc.tuple(sample, fc.array(graft, { maxLength: 4 })).map(([text, grafts]) => grafted(text, grafts));
    const file = mutated(fc.oneof(changed, sample), PIECES, 2);
    const session: Session = {
      try: async (seed) => {
        await tryPortion(file, (text) => withDeadline(READING_MS, 'the end of reading', () => check(directory, text)), {
          seed,
          numRuns: RUNS,
        });
        return RUNS;
      },
      [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true, force: true }),
    };
    return session;
  },
};

async function check(directory: string, text: string): Promise<void> {
  const path = join(directory, 'fuzzed.yaml');
  writeFileSync(path, text);
  const options = {
    appId: 'shop',
    environment: {},
    workingDirectory: directory,
    substitute: { 'pubsub.*': 'pubsub.in-memory' },
  };
  const { problems, notes } = await checkResources([path], options);
  for (const { file, line, column, message } of [...problems, ...notes])
    if (file === '' || line < 0 || column < 0 || message.trim() === '')
      throw new Error(`a finding without a place: ${file} ${line} ${column} ${message}`);
  const loaded = await refused(() => loadResources([path], options));
  if ((loaded === undefined) !== problems.length > 0)
    throw new Error(`${problems.length} problems, but it ${loaded === undefined ? 'does not load' : 'loads'}`);
  // What is found to be right must make a sidecar.
  if (loaded !== undefined)
    await refused(async () => new Sidecar({ appId: 'shop', logger: new TallyLogger(), ...loaded.options }));
  await refused(() => loadMultiApp(path));
}

/** The result; `undefined` for an error that says what is wrong. */
async function refused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isSidecarError(error) && error.code === 'ERR_CONFIGURATION') return undefined;
    throw error;
  }
}
