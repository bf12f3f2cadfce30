// Makes docs/options.md from the comments of `SidecarOptions` and of all that it contains, and from the flags of the
// command. It throws for an option without a comment, or without a default if it may be left out.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RUN_FLAGS } from '../src/cli/run-flags.ts';

// TypeScript 7 has no API to parse with yet; API Extractor brings one that has.
const ts = createRequire(createRequire(import.meta.url).resolve('@microsoft/api-extractor'))('typescript');
const SOURCES = fileURLToPath(new URL('../src', import.meta.url));

const HEAD = `# Options

All options of \`new Sidecar({ … })\`, those of its components and stores, and the defaults. Made from the comments of the
sources by \`npm run pages\`.

- A name that ends in \`Ms\` is a number of milliseconds, one that ends in \`Bytes\` a number of bytes.
- An option that is \`undefined\` counts as left out. An option that is unknown or wrong is an error, \`ERR_CONFIGURATION\`, which names the option, its value and the expected values.
- A flag is one of \`insidecar run\` ([docs/cli.md](cli.md)) that sets the option. Durations of flags have their own units: \`insidecar run --help\`.
- Environment variables count if the option is left out. Names in parentheses hold with \`wire: 'dapr'\`.
`;

/** What is listed, in order: the first one with the paths of its options, the others with their own names. */
const ROOTS = [
  { type: 'SidecarOptions', file: 'sidecar/options.ts' },
  { title: 'memoryPubSub(name, …)', type: 'MemoryPubSubOptions', file: 'components/memory/memory-pubsub.ts' },
  { title: 'durablePubSub(name, …)', type: 'DurablePubSubOptions', file: 'components/durable/durable-pubsub.ts' },
  { title: 'embeddedState(…)', type: 'EmbeddedOptions', file: 'components/embedded/index.ts' },
  { title: 'postgresqlState(…)', type: 'PostgresqlOptions', file: 'components/postgresql/index.ts' },
  { title: 'redisState(…)', type: 'RedisOptions', file: 'components/redis/index.ts' },
];

const parsed = new Map();
/** All that is wrong, for one error. */
const problems = [];

function sourceOf(file) {
  if (!parsed.has(file)) {
    const text = readFileSync(join(SOURCES, file), 'utf8');
    parsed.set(file, ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true));
  }
  return parsed.get(file);
}

/** The declaration of a type that a file declares or imports, and its file. */
function declarationOf(name, file) {
  for (const statement of sourceOf(file).statements) {
    const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
    if (isType && statement.name.text === name) return { declaration: statement, file };
    const from = statement.moduleSpecifier?.text;
    if (!from?.startsWith('.')) continue;
    const named = statement.importClause?.namedBindings ?? statement.exportClause;
    const found = named?.elements?.find((element) => element.name.text === name);
    if (found !== undefined) return declarationOf((found.propertyName ?? found.name).text, join(dirname(file), from));
  }
  return undefined;
}

/** The members of a type as `{ member, file, isAlternative }`, those of what it extends or combines included. */
function membersOf(node, file) {
  if (ts.isInterfaceDeclaration(node)) {
    const inherited = (node.heritageClauses ?? []).flatMap(({ types }) =>
      types.flatMap(({ expression }) => membersOfName(expression.text, file)),
    );
    return [...inherited, ...membersIn(node.members, file)];
  }
  if (ts.isTypeAliasDeclaration(node)) return membersOf(node.type, file);
  if (ts.isTypeLiteralNode(node)) return membersIn(node.members, file);
  if (ts.isIntersectionTypeNode(node)) return node.types.flatMap((type) => membersOf(type, file));
  if (ts.isUnionTypeNode(node))
    return node.types.flatMap((type) => membersOf(type, file).map((one) => ({ ...one, isAlternative: true })));
  if (ts.isTypeReferenceNode(node)) return membersOfName(node.typeName.text, file);
  return [];
}

const membersIn = (members, file) => members.map((member) => ({ member, file, isAlternative: false }));

function membersOfName(name, file) {
  const found = declarationOf(name, file);
  return found === undefined ? [] : membersOf(found.declaration, found.file);
}

/** Where a type leads to: the members within it, and how its path goes on (`[]` in a list, `.<name>` in a record). */
function within(type, file) {
  if (ts.isParenthesizedTypeNode(type) || ts.isTypeOperatorNode(type)) return within(type.type, file);
  if (ts.isArrayTypeNode(type)) return steps('[]', within(type.elementType, file));
  if (ts.isUnionTypeNode(type)) {
    const found = type.types.map((one) => within(one, file)).filter((one) => one.members.length > 0);
    return found.find(({ step }) => step === '') ?? found[0] ?? { step: '', members: [] };
  }
  if (ts.isTypeReferenceNode(type) && type.typeName.text === 'Readonly') return within(type.typeArguments[0], file);
  if (ts.isTypeReferenceNode(type) && type.typeName.text === 'Record')
    return steps('.<name>', within(type.typeArguments[1], file));
  const name = ts.isTypeReferenceNode(type) ? type.typeName.text : undefined;
  const found = name === undefined ? { declaration: type, file } : declarationOf(name, file);
  if (found === undefined || !isOfOptions(found.declaration)) return { step: '', members: [] };
  return { step: '', name, members: membersOf(found.declaration, found.file) };
}

const steps = (step, inner) => ({ ...inner, step: step + inner.step });

/** Objects that have methods, such as a logger, are made elsewhere. */
function isOfOptions(node) {
  const members = ts.isTypeAliasDeclaration(node) ? [] : (node.members ?? []);
  return members.every((member) => ts.isPropertySignature(member) && !ts.isFunctionTypeNode(member.type));
}

function commentOf(member) {
  const [comment] = ts.getJSDocCommentsAndTags(member);
  const text = ts.getTextOfJSDocComment(comment?.comment);
  if (text === undefined) problems.push(`the option ${member.name.text} has no comment`);
  return (text ?? '').replaceAll(/\{@link (\w+)[^}]*\}/g, '`$1`').replaceAll(/\s+/g, ' ');
}

const DEFAULT = /\s*\bDefault:? (.+?)\.(?=\s|$)/;
const VARIABLES = /environment variables? (`[A-Z_]+`(?: \(`[A-Z_]+`\))?)/;

/** One page; `flags` has those of each option, by its path. */
class Page {
  #lines = [];
  #sections = new Map();
  #paths = new Set();
  #flags;

  constructor(flags) {
    this.#flags = flags;
  }

  get text() {
    for (const [option, flag] of this.#flags)
      if (!this.#paths.has(option)) problems.push(`--${flag} sets the option ${option}, which does not exist`);
    if (problems.length > 0) throw new Error(problems.join('\n'));
    return `${HEAD}\n${this.#lines.join('\n')}`;
  }

  addRoot({ type, file, title }) {
    this.#add(title ?? 'Sidecar', '', membersOfName(type, file), title !== undefined);
  }

  #add(title, path, members, isOwn) {
    const below = [];
    const rows = members.map((one) => this.#row(one, path, below, isOwn));
    this.#lines.push(`## \`${title}\`\n`);
    this.#lines.push('| Option | Type | Default | Flag, variable | Meaning |', '|---|---|---|---|---|', ...rows, '');
    for (const { at, members: inner } of below) this.#add(at, at, inner, isOwn);
  }

  #row({ member, file, isAlternative }, path, below, isOwn) {
    const name = member.name.text;
    const at = path === '' ? name : `${path}.${name}`;
    if (!isOwn) this.#paths.add(at);
    const comment = commentOf(member);
    const inner = within(member.type, file);
    const section = this.#sectionOf(inner, at, below);
    const meaning = comment.replace(DEFAULT, '').trim();
    if (meaning === '') problems.push(`the comment of the option ${at} names only the default`);
    const cells = [
      `\`${name}\``,
      typeCell(member, file, section),
      defaultCell(member, comment, at, { section, isAlternative }),
      isOwn ? '' : this.#sources(at, comment),
      meaning,
    ];
    return `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`;
  }

  /** The link to the section of what an option contains; types that stand in several places have one. */
  #sectionOf({ step, name, members }, at, below) {
    if (members.length === 0) return undefined;
    const key = name ?? at + step;
    if (!this.#sections.has(key)) {
      this.#sections.set(key, at + step);
      below.push({ at: at + step, members });
    }
    const heading = this.#sections.get(key);
    return `[\`${heading}\`](#${heading.toLowerCase().replaceAll(/[^\w-]/g, '')})`;
  }

  #sources(at, comment) {
    const flag = this.#flags.get(at);
    const [, variables = ''] = VARIABLES.exec(comment) ?? [];
    return [flag === undefined ? '' : `\`--${flag}\``, variables].filter((one) => one !== '').join(', ');
  }
}

function typeCell({ name, type }, file, section) {
  if (section !== undefined) {
    const others = ts.isUnionTypeNode(type) ? type.types.filter((one) => within(one, file).members.length === 0) : [];
    return [...others.map((one) => `\`${typeText(one, file)}\``), section].join(' or ');
  }
  const unit = name.text.endsWith('Ms') ? ' of milliseconds' : name.text.endsWith('Bytes') ? ' of bytes' : '';
  return `\`${typeText(type, file)}\`${unit}`;
}

/** A type in words of TypeScript; the name of a few texts is replaced by them. */
function typeText(type, file) {
  if (ts.isTypeReferenceNode(type)) {
    const found = declarationOf(type.typeName.text, file);
    const meant =
      found !== undefined && ts.isTypeAliasDeclaration(found.declaration) ? found.declaration.type : undefined;
    const isOfTexts = meant !== undefined && ts.isUnionTypeNode(meant) && meant.types.every(ts.isLiteralTypeNode);
    if (isOfTexts) return typeText(meant, found.file);
  }
  const text = type
    .getText()
    .replaceAll(/\breadonly /g, '')
    .replaceAll(/\bReadonly<(.+)>/g, '$1');
  return text.replaceAll(/\s+/g, ' ').replace(/ ?\| undefined$/, '');
}

function defaultCell({ questionToken }, comment, at, { section, isAlternative }) {
  const [, words] = DEFAULT.exec(comment) ?? [];
  if (words !== undefined) return words;
  if (isAlternative) return questionToken === undefined ? 'one of these is required' : 'none';
  if (questionToken === undefined) return 'required';
  if (section !== undefined) return 'those of its options';
  problems.push(`the comment of the option ${at} names no default`);
  return '';
}

/** The text of docs/options.md. */
export function optionsPage() {
  const flags = new Map(RUN_FLAGS.flatMap(({ name, option }) => (option === undefined ? [] : [[option, name]])));
  const page = new Page(flags);
  for (const root of ROOTS) page.addRoot(root);
  return page.text;
}
