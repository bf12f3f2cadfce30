import { messageOf } from '../../errors.ts';
import { isJsonObject, jsonMember } from '../../util/json-text.ts';
import { isTexts } from '../../util/option-fields.ts';
import { NO_METADATA } from '../request-metadata.ts';
import type { BindingsServiceDeps, InvokeForAnswer } from './bindings-deps.ts';

const NULL = 'null';

/** The actions that the application's answer to an event asks for. Failures are logged: the event counts as delivered. */
export class AnswerActions {
  readonly #deps: Pick<BindingsServiceDeps, 'logger' | 'saveState'>;
  readonly #invoke: InvokeForAnswer;

  constructor(deps: Pick<BindingsServiceDeps, 'logger' | 'saveState'>, invoke: InvokeForAnswer) {
    this.#deps = deps;
    this.#invoke = invoke;
  }

  /** Never rejects. An answer that is no JSON object asks for nothing. */
  async follow(binding: string, body: Buffer): Promise<void> {
    const text = body.toString();
    const answer = objectIn(text);
    if (answer === undefined) return;
    await this.#tried(binding, 'state', () => this.#save(answer, text));
    const { to, concurrency } = answer;
    if (to === undefined || to === null) return;
    if (!isTexts(to)) return this.#failed(binding, 'to', 'expected a list of names of bindings');
    const data = Buffer.from(jsonMember(text, 'data') ?? NULL);
    const call = (name: string): Promise<void> =>
      this.#tried(binding, `to ${name}`, () =>
        this.#invoke(name, { operation: 'create', data, metadata: NO_METADATA }),
      );
    if (concurrency === 'parallel') return void (await Promise.all(to.map(call)));
    for (const name of to) await call(name);
  }

  async #save({ storeName, state }: Readonly<Record<string, unknown>>, text: string): Promise<void> {
    if (!Array.isArray(state) || state.length === 0) return;
    if (typeof storeName !== 'string') throw new Error('state needs storeName, the name of a state store');
    await this.#deps.saveState(storeName, Buffer.from(jsonMember(text, 'state') ?? '[]'));
  }

  async #tried(binding: string, part: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#failed(binding, part, messageOf(error));
    }
  }

  #failed(binding: string, part: string, problem: string): void {
    const message = "what the application's answer to a binding asks for could not be done";
    this.#deps.logger.warn({ binding, part, problem }, message);
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
