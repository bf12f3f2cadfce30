import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { harmless, harmlessJson, harmlessLines } from '../../util/harmless-text.ts';
import type { Flag, FlagValues } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, misuse } from '../failure.ts';
import type { Api, QueryParameters } from './api-client.ts';
import { type Column, tableOf } from './table.ts';
import { instantMeant, widthOf } from './text.ts';

/** An operation of a command on one kind of thing, such as `insidecar queues purge`. */
export interface Action {
  readonly name: string;
  /** The arguments in the help. */
  readonly usage?: string;
  readonly help: string;
  readonly flags?: readonly Flag[];
  /** How many arguments it takes, at least and at most. */
  readonly takes: readonly [least: number, most: number];
  readonly run: (call: Call) => Promise<void>;
}

/** A command with its actions, such as `insidecar queues`. */
export interface ActionGroup {
  readonly name: string;
  /** One line. */
  readonly about: string;
  /** The first one is what the command does without an action. */
  readonly actions: readonly Action[];
  /** Lines at the end of the help. */
  readonly notes: readonly string[];
}

/** One call of an action. */
export class Call {
  readonly api: Api;
  /** The application, for questions. */
  readonly app: string;
  readonly flags: FlagValues;
  /** The arguments. */
  readonly args: readonly string[];
  /** Whether the application is stopped: its state is open in this process. */
  readonly isStopped: boolean;
  readonly #context: CommandContext;
  readonly #about: string;

  constructor(
    parts: Pick<Call, 'api' | 'app' | 'flags' | 'args' | 'isStopped'>,
    { context, about }: { readonly context: CommandContext; readonly about: string },
  ) {
    this.api = parts.api;
    this.app = parts.app;
    this.flags = parts.flags;
    this.args = parts.args;
    this.isStopped = parts.isStopped;
    this.#context = context;
    this.#about = about;
  }

  /** An argument that `takes` promises. */
  arg(at: number): string {
    return this.args[at] ?? '';
  }

  /** The present instant. */
  get now(): number {
    return this.#context.clock.now();
  }

  get isJson(): boolean {
    return this.flags.isOn('json') === true;
  }

  /** Prints a reply of the API as JSON. */
  json(reply: unknown): void {
    this.#context.stdout.write(`${harmlessJson(reply)}\n`);
  }

  /** Prints what was done; the reply itself with `--json`. */
  done(reply: unknown, text: string): void {
    if (this.isJson) this.json(reply);
    else this.#context.stdout.write(`${harmless(text)}\n`);
  }

  /** Prints rows below a heading. */
  table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], ifNone: string): void {
    const { stdout, columns: width } = this.#context;
    if (rows.length === 0) return this.note(ifNone);
    stdout.write(tableOf(rows, columns, { width, isColoured: stdout.isColoured }));
  }

  /** Prints names and values; those that are `undefined` are left out. */
  fields(fields: Readonly<Record<string, string | number | undefined>>): void {
    const shown = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [harmless(name), value] as const);
    const width = Math.max(...shown.map(([name]) => widthOf(name)));
    const indent = ' '.repeat(width + 2);
    for (const [name, value] of shown) {
      const text = harmlessLines(String(value)).replaceAll('\n', `\n${indent}`);
      this.#context.stdout.write(`${name}${' '.repeat(width + 2 - widthOf(name))}${text}\n`);
    }
  }

  /** Tells something beside the result. */
  note(text: string): void {
    this.#context.stderr.write(`${harmless(text)}\n`);
  }

  /** Reads pages until one has something: a page of what a filter means may be empty, and not the last one. */
  async page<Reply extends { readonly cursor?: string }>(
    read: (page: QueryParameters) => Promise<Reply>,
    isEmpty: (reply: Reply) => boolean,
  ): Promise<Reply> {
    const limit = this.flags.integer('limit', { from: 1, to: 1_000 });
    let reply = await read({ limit, cursor: this.flags.text('cursor') });
    while (isEmpty(reply) && reply.cursor !== undefined) reply = await read({ limit, cursor: reply.cursor });
    return reply;
  }

  /** Says how the next page is read. */
  more(cursor: string | undefined): void {
    if (cursor !== undefined && !this.isJson) this.note(`more: --cursor ${cursor}`);
  }

  /**
   * Asks whether to do something that cannot be undone, unless `--yes` is given.
   *
   * @throws Failure if that is declined, or there is no terminal to ask.
   */
  async confirm(question: string): Promise<void> {
    if (this.flags.isOn('yes') === true) return;
    const { confirm } = this.#context;
    if (confirm === undefined) throw misuse(`${harmless(question)} Say so with --yes`, this.#about);
    if (!(await confirm(harmless(question)))) throw new CommandFailure('nothing was changed');
  }

  /** The instant of a flag in milliseconds. @throws Failure for other than an instant. */
  instant(name: string): number | undefined {
    const text = this.flags.text(name);
    if (text === undefined) return undefined;
    const at = instantMeant(text, this.now);
    if (at === undefined)
      throw this.misuse(
        `--${name} must be a time such as 2h, 7d or 2026-08-04T02:00Z: actual is ${JSON.stringify(text)}`,
      );
    return at;
  }

  /** The JSON text of a flag, which may name a file with `@`. @throws Failure for other than JSON. */
  async jsonText(name: string): Promise<string | undefined> {
    const text = await this.textOrFile(name);
    if (text === undefined) return undefined;
    if (!isJson(text)) throw this.misuse(`--${name} must be JSON, such as '{"id":1}' or '"text"', or @FILE with JSON`);
    return text;
  }

  /** The text of a flag, or that of the file which it names with `@`. @throws Failure for other than text in UTF-8. */
  async textOrFile(name: string): Promise<string | undefined> {
    const text = this.flags.text(name);
    if (text === undefined || !text.startsWith('@')) return text;
    const path = resolve(this.#context.directory, text.slice(1));
    const bytes = await readFile(path).catch((error: unknown) => {
      throw new CommandFailure(`--${name}: the file ${JSON.stringify(path)} cannot be read`, undefined, error);
    });
    if (!isUtf8(bytes)) throw this.misuse(`--${name}: the file ${JSON.stringify(path)} is not text in UTF-8`);
    return bytes.toString();
  }

  /** The command line is wrong. */
  misuse(message: string): CommandFailure {
    return misuse(message, this.#about);
  }
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
