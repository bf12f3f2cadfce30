import { Composer, type CST, type Document, isScalar, LineCounter, Parser, visit } from 'yaml';
import { messageOf } from '../errors.ts';
import { readText } from '../util/text-file.ts';
import { type Report, wholeFile } from './report.ts';
import { YamlDocument } from './yaml-document.ts';

/** Limits of a file: the worst file within them is read within a second or two, a real one at once. */
const LIMITS = {
  documents: 1_000,
  /** Deeper nesting would overflow the stack of the recursive parser, which we could not catch. */
  depth: 64,
  entries: 5_000,
  /** Max nodes that aliases may represent, as counted by the yaml package. */
  aliases: 100,
};

/** How a problem of the text itself begins. */
export const NOT_YAML = 'not valid YAML';

/** Reads the text of a file; `undefined` after reporting that it cannot be read. */
export async function readTextFile(file: string, report: Report): Promise<string | undefined> {
  try {
    return await readText(file);
  } catch (error) {
    report.problem(wholeFile(file), messageOf(error));
    return undefined;
  }
}

/** The non-empty documents of a YAML file. Unreadable ones are reported; the others are still returned. */
export async function readYamlFile(file: string, report: Report): Promise<readonly YamlDocument[]> {
  const text = await readTextFile(file, report);
  return text === undefined ? [] : parseYaml(file, text, report);
}

/** The documents of a text; `file` is its name in reports. */
export function parseYaml(file: string, text: string, report: Report): readonly YamlDocument[] {
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const tooMuch = boundsProblem(tokens);
  if (tooMuch !== undefined) {
    const { line, col } = lines.linePos(tooMuch.offset);
    report.problem({ file, document: 0, line, column: col }, tooMuch.message);
    return [];
  }
  const composer = new Composer({
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    uniqueKeys: false,
    version: '1.2',
    // Else the parser warns of a key that is not a scalar on standard error; it is reported as an unknown field.
    logLevel: 'error',
  });
  const documents: YamlDocument[] = [];
  let index = 0;
  for (const document of composer.compose(tokens)) {
    index++;
    const read = readDocument({ file, index }, document, lines, report);
    if (read !== undefined) documents.push(read);
  }
  return documents;
}

function readDocument(
  location: { file: string; index: number },
  document: Document.Parsed,
  lines: LineCounter,
  report: Report,
): YamlDocument | undefined {
  const faults: readonly Fault[] = [...document.errors, ...document.warnings, ...repeatedKeys(document)];
  for (const { message, pos } of faults) {
    const { line, col } = lines.linePos(pos[0]);
    report.problem({ file: location.file, document: location.index, line, column: col }, `${NOT_YAML}: ${message}`);
  }
  if (faults.length > 0 || document.contents === null) return undefined;
  try {
    const value: unknown = document.toJS({ maxAliasCount: LIMITS.aliases });
    return value === null ? undefined : new YamlDocument(location, document, lines, value);
  } catch (error) {
    const { line, col } = lines.linePos(document.contents.range[0]);
    const at = { file: location.file, document: location.index, line, column: col };
    report.problem(at, `not usable YAML: ${messageOf(error)}`);
    return undefined;
  }
}

interface Fault {
  readonly message: string;
  readonly pos: readonly [start: number, end: number];
}

/** The parser's own search compares each key with each: a second for 5,000 keys. */
function repeatedKeys(document: Document.Parsed): Fault[] {
  const faults: Fault[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key) || key.value === '<<') continue;
        const name = String(key.value);
        const [start = 0, end = 0] = key.range ?? [];
        if (seen.has(name)) faults.push({ message: `key ${JSON.stringify(name)} is defined twice`, pos: [start, end] });
        seen.add(name);
      }
    },
  });
  return faults;
}

interface TooMuch {
  readonly offset: number;
  readonly message: string;
}

/** Checks the parser's flat list of tokens before anything recurses into it. */
function boundsProblem(tokens: readonly CST.Token[]): TooMuch | undefined {
  let documents = 0;
  for (const token of tokens) {
    if (token.type !== 'document') continue;
    documents++;
    const problem = nestingProblem(token);
    if (problem !== undefined) return problem;
    if (documents > LIMITS.documents)
      return { offset: token.offset, message: `it has more than ${LIMITS.documents} documents` };
  }
  return undefined;
}

function nestingProblem(document: CST.Document): TooMuch | undefined {
  const open: { token: CST.Token; depth: number }[] = [];
  if (document.value !== undefined) open.push({ token: document.value, depth: 1 });
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (!('items' in token)) continue;
    const { offset } = token;
    if (depth > LIMITS.depth) return { offset, message: `it is nested deeper than ${LIMITS.depth} levels` };
    if (token.items.length > LIMITS.entries)
      return { offset, message: `a collection has more than ${LIMITS.entries} entries` };
    for (const { key, value } of token.items) {
      if (key) open.push({ token: key, depth: depth + 1 });
      if (value) open.push({ token: value, depth: depth + 1 });
    }
  }
  return undefined;
}
