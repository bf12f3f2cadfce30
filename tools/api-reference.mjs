// Makes a page of the API reference from what API Extractor has found in the declarations of an entry point.
import { importOf } from './entries.mjs';

const KINDS = [
  ['Function', 'function', 'Functions'],
  ['Class', 'class', 'Classes'],
  ['Variable', 'const', 'Constants'],
  ['Interface', 'interface', 'Interfaces'],
  ['TypeAlias', 'type', 'Types'],
];

/** One page: all exports of an entry, by kind and name. `entries` is where links may lead to. */
export function referenceOf(entry, entries) {
  const page = new Page(entry, entries);
  const groups = KINDS.map(([kind, word, title]) => ({
    word,
    title,
    members: overloadsOf(entry.exported.filter((member) => member.kind === kind)),
  })).filter(({ members }) => members.length > 0);
  const contents = groups.map(
    ({ title, members }) => `- ${title}: ${members.map(([{ name }]) => page.linkTo(name)).join(', ')}`,
  );
  const sections = groups.flatMap(({ word, members }) => members.map((overloads) => page.section(word, overloads)));
  const head = `# \`${importOf(entry.name)}\`\n\nMade from the comments of the sources by \`npm run api:update\`.\n`;
  return `${[head, `${contents.join('\n')}\n`, ...sections].join('\n')}`;
}

class Page {
  #targets = new Map();

  constructor(entry, entries) {
    for (const { slug, exported } of [...entries, entry]) {
      const file = slug === entry.slug ? '' : `${slug}.md`;
      for (const { name, kind } of exported) this.#targets.set(name, `${file}#${anchorOf(kind, name)}`);
    }
  }

  linkTo(name, text = `\`${name}\``) {
    const target = this.#targets.get(name);
    return target === undefined ? text : `[${text}](${target})`;
  }

  section(word, overloads) {
    const [member] = overloads;
    const { summary, tags } = this.#comment(member.docComment);
    const code = codeBlock(overloads.map(declarationText).join('\n'));
    const parts = [`## ${word} ${member.name}`, summary, code, this.#blocks(tags), this.#members(member)];
    return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
  }

  /** Properties as a table, then each method. */
  #members({ name: className, members = [] }) {
    const properties = members.filter(({ kind }) => kind.startsWith('Property'));
    const rows = properties.map(
      (one) => `| \`${one.name}${one.isOptional ? '?' : ''}\` | ${this.#type(one)} | ${this.#cell(one)} |`,
    );
    const table = rows.length === 0 ? '' : ['| | Type | |', '|---|---|---|', ...rows].join('\n');
    const methods = members.filter(({ kind }) => !kind.startsWith('Property'));
    const parts = methods.map((method) => {
      const { summary, tags } = this.#comment(method.docComment);
      const isNew = method.kind === 'Constructor';
      const code = codeBlock(textOf(method).replace(/^constructor/, `new ${className}`));
      const words = isNew ? summary.replace(/^Constructs a new instance of .*$/m, '').trim() : summary;
      // An index signature has no name.
      const name = isNew ? 'new' : escaped(method.name ?? textOf(method));
      return [`### ${name}`, code, words, this.#blocks(tags)].filter((part) => part !== '').join('\n\n');
    });
    return [table, ...parts].filter((part) => part !== '').join('\n\n');
  }

  /** The type of a property, with links. */
  #type({ excerptTokens, propertyTypeTokenRange: { startIndex, endIndex } }) {
    return excerptTokens
      .slice(startIndex, endIndex)
      .map(({ kind, text }) => {
        const code = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');
        return kind === 'Reference' ? this.linkTo(text) : code.trim() === '' ? code : `\`${code}\``;
      })
      .join('')
      .replaceAll('``', '');
  }

  #cell({ docComment }) {
    const { summary, tags } = this.#comment(docComment);
    return [summary, this.#blocks(tags)]
      .join(' ')
      .replaceAll(/\s*\n\s*/g, ' ')
      .replaceAll(/(?<!\\)\|/g, '\\|')
      .trim();
  }

  /** Splits a comment into its text and its tags. */
  #comment(comment = '') {
    const lines = comment
      .replace(/^\/\*\*/, '')
      .replace(/\*\/\s*$/, '')
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, ''));
    const [summary = '', ...tags] = lines.join('\n').split(/^@(?=[a-zA-Z])/m);
    return { summary: this.#linked(summary), tags: tags.map((tag) => this.#linked(tag)) };
  }

  #linked(text) {
    return text
      .replaceAll(/\{@link ([\w.]+)(?: \| ([^}]+))?\}/g, (_all, name, words) =>
        this.linkTo(name.split('.')[0], words ?? `\`${name}\``),
      )
      .trim();
  }

  #blocks(tags) {
    const of = (name) =>
      tags.flatMap((tag) => (new RegExp(`^${name}\\b`).test(tag) ? [tag.slice(name.length).trim()] : []));
    const parameters = of('param').map(
      (text) => `- ${text.replaceAll(/\s*\n\s*/g, ' ').replace(/^(\w+) - /, '`$1`: ')}`,
    );
    return [
      ...of('remarks'),
      parameters.join('\n'),
      ...of('returns').map((text) => `Returns ${text}`),
      ...of('throws').map((text) => `Throws ${text}`),
      ...of('defaultValue').map((text) => `Default: ${text}.`),
      ...of('example'),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  }
}

/** Exports by name: a function may have several declarations. */
function overloadsOf(members) {
  const names = [...new Set(members.map(({ name }) => name))];
  return names.map((name) => members.filter((member) => member.name === name));
}

function anchorOf(kind, name) {
  const [, word] = KINDS.find(([one]) => one === kind) ?? [];
  return `${word} ${name}`.toLowerCase().replaceAll(' ', '-');
}

function textOf({ excerptTokens }) {
  return excerptTokens
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** The declaration; of classes and interfaces the first line. */
function declarationText(member) {
  return textOf(member)
    .replace(/^export declare /, '')
    .replace(/^export /, '')
    .replace(/[ {]*$/, '');
}

function codeBlock(code) {
  return `\`\`\`ts\n${code}\n\`\`\``;
}

function escaped(text) {
  return text.replaceAll(/[[\]]/g, '\\$&');
}
