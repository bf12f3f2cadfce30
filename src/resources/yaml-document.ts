import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node, type Pair } from 'yaml';
import type { SourceLocation } from './report.ts';

/** The path of a value: keys of mappings and indexes of sequences. */
export type YamlPath = readonly (string | number)[];

/** One document of a YAML file: its value and the positions of its parts. */
export class YamlDocument {
  /** The value, as in JSON. */
  readonly value: unknown;
  readonly file: string;
  /** From 1. */
  readonly index: number;
  readonly #document: Document;
  readonly #lines: LineCounter;

  constructor(location: { file: string; index: number }, document: Document, lines: LineCounter, value: unknown) {
    this.file = location.file;
    this.index = location.index;
    this.#document = document;
    this.#lines = lines;
    this.value = value;
  }

  /** A copy with another value, keeping the positions. */
  mapped(change: (value: unknown) => unknown): YamlDocument {
    return new YamlDocument(this, this.#document, this.#lines, change(this.value));
  }

  /** The position of a value, or of its nearest existing ancestor. */
  location(path: YamlPath = []): SourceLocation {
    return this.#locationOf(this.#walk(path).at);
  }

  /** The position of a key of a mapping. */
  keyLocation(path: YamlPath, key: string): SourceLocation {
    const { at, isFound } = this.#walk(path);
    const pair = isFound ? pairOf(this.#resolved(at), key) : undefined;
    return this.#locationOf(isNode(pair?.key) ? pair.key : at);
  }

  /** A scalar as written: a number keeps its digits. */
  text(path: YamlPath): string | undefined {
    const { at, isFound } = this.#walk(path);
    return isFound && isScalar(at) ? at.source : undefined;
  }

  #walk(path: YamlPath): { at: Node | null; isFound: boolean } {
    let at: Node | null = this.#document.contents;
    for (const step of path) {
      const next = this.#childOf(at, step);
      if (next === undefined) return { at, isFound: false };
      at = next;
    }
    return { at, isFound: true };
  }

  #childOf(node: Node | null, step: string | number): Node | undefined {
    const parent = this.#resolved(node);
    const child = isSeq(parent) ? parent.items[Number(step)] : pairOf(parent, String(step))?.value;
    return isNode(child) ? child : undefined;
  }

  #resolved(node: Node | null): Node | null | undefined {
    return isAlias(node) ? node.resolve(this.#document) : node;
  }

  #locationOf(node: Node | null): SourceLocation {
    const { line, col } = this.#lines.linePos(node?.range?.[0] ?? 0);
    return { file: this.file, document: this.index, line, column: col };
  }
}

function pairOf(node: Node | undefined | null, key: string): Pair | undefined {
  if (!isMap(node)) return undefined;
  const keyOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '');
  // Keys of the value may have got the case of the schema.
  const isSame = (pair: Pair): boolean => keyOf(pair).toLowerCase() === key.toLowerCase();
  return node.items.find((pair) => isScalar(pair.key) && keyOf(pair) === key) ?? node.items.find(isSame);
}
