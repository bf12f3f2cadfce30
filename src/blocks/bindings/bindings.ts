import type { BindingResponse } from '../../components/binding.ts';
import { messageOf, SidecarError } from '../../errors.ts';
import { cancelTokenOfSignal } from '../../util/cancel-token.ts';
import { msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { jsonTextOf } from '../../util/json-value.ts';
import { checkFunction } from '../../util/known-fields.ts';
import {
  ANYTHING,
  checkOptions,
  invalidArgument,
  invalidIn,
  type OptionFields,
  required,
  SIGNAL,
  TEXT,
  TEXT_BY_NAME,
} from '../../util/option-fields.ts';
import { shown } from '../../util/shown.ts';
import { metadataFrom } from '../request-metadata.ts';
import type { BindingHandler, BindingHandlerOptions } from './binding-handler.ts';
import type { BindingsService } from './bindings-service.ts';

/** A call of {@link Bindings.invoke}. @public */
export interface BindingCall {
  /** One of the binding's operations, case-sensitive. */
  readonly operation: string;
  /** A JSON value. Default `null`. */
  readonly data?: unknown;
  /** Per call, by name; the meaning depends on the type. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Aborts the call. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** The answer of {@link Bindings.invoke}. @public */
export interface BindingReply {
  /** What the binding tells about the call, by name. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The body; empty without one. */
  readonly bytes: Uint8Array;
  /** The body as text in UTF-8. */
  text(): string;
  /** The body as JSON; `undefined` if it is empty. @throws SyntaxError if it is no JSON */
  json<T = unknown>(): T | undefined;
}

/** A handler of events that is attached. @public */
export interface BindingInput extends AsyncDisposable {
  /** The name of the binding. */
  readonly name: string;
  /** Ends it: events go to the application then, if that wants them. A second call is harmless. */
  close(): Promise<void>;
}

const CALL_FIELDS: OptionFields<BindingCall> = {
  operation: required(TEXT),
  data: ANYTHING,
  metadata: TEXT_BY_NAME,
  signal: SIGNAL,
};
const HANDLER_FIELDS: OptionFields<BindingHandlerOptions> = { timeout: duration(1) };

/**
 * Bindings: output bindings call an outside system by a name and an operation; input bindings call the application when
 * something happens outside.
 *
 * @public
 */
export class Bindings {
  readonly #service: BindingsService;

  /** @internal */
  constructor(service: BindingsService) {
    this.#service = service;
  }

  /**
   * Calls an output binding.
   *
   * @param name - the name of the component
   * @throws SidecarError `ERR_INVOKE_OUTPUT_BINDING` for a name or an operation that is not known, and when the binding
   * fails: it may have been done then. `ERR_INVALID_ARGUMENT` for such arguments.
   * @example
   * ```ts
   * const sql = 'select id, name from users where id = $1';
   * const users = await sidecar.bindings.invoke('db', { operation: 'query', metadata: { sql, params: '[1]' } });
   * console.log(users.json<[number, string][]>());
   * ```
   */
  async invoke(name: string, call: BindingCall): Promise<BindingReply> {
    if (typeof name !== 'string' || name === '')
      throw invalidArgument(`the name of the binding is ${shown(name)}: expected a text that is not empty`, 'name');
    checkOptions('the call of a binding', call, CALL_FIELDS, invalidIn('call'));
    const { operation, metadata = {}, signal } = call;
    const invocation = { operation, data: dataOf(call), metadata: metadataFrom(Object.entries(metadata)) };
    const cancel = signal && cancelTokenOfSignal(signal);
    return new Reply(await this.#service.invoke(name, invocation, cancel && { cancel }));
  }

  /**
   * Handles the events of an input binding in code, instead of in the application. Attach it before the start, or the
   * first events may go to the application.
   *
   * @param name - the name of the component
   * @throws SidecarError `ERR_INVALID_ARGUMENT` for a name that is not an input binding's, unknown options, and a handler
   * that is no function; `ERR_CONFIGURATION` for a binding that has a handler.
   * @example
   * ```ts
   * sidecar.bindings.on<{ id: number }>('orders-queue', (order, { signal }) => ship(order, signal));
   * ```
   */
  on<T = unknown>(name: string, handler: BindingHandler<T>, options: BindingHandlerOptions = {}): BindingInput {
    checkFunction(handler, `the handler of binding ${shown(name)}`, 'handler');
    checkOptions(`options of binding ${shown(name)}`, options, HANDLER_FIELDS, invalidArgument);
    const attached = this.#service.on(name, { handler, timeLimitMs: msOf(options.timeout) ?? 0 });
    const close = async (): Promise<void> => attached[Symbol.dispose]();
    return { name, close, [Symbol.asyncDispose]: close };
  }
}

function dataOf({ data }: BindingCall): Uint8Array {
  try {
    return Buffer.from(jsonTextOf(data) ?? 'null');
  } catch (cause) {
    const problem = `data of the call of a binding ${messageOf(cause)}`;
    throw new SidecarError('ERR_INVALID_ARGUMENT', problem, { cause, argument: 'call.data' });
  }
}

class Reply implements BindingReply {
  readonly metadata: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;

  constructor({ data, metadata }: BindingResponse = {}) {
    this.metadata = metadataFrom(Object.entries(metadata ?? {}));
    this.bytes = data ?? new Uint8Array(0);
  }

  text(): string {
    return Buffer.from(this.bytes).toString();
  }

  json<T>(): T | undefined {
    return this.bytes.length === 0 ? undefined : (JSON.parse(this.text()) as T);
  }
}
