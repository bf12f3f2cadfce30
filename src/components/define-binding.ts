import { nameOfKind } from '../util/known-fields.ts';
import { checkOptions, FUNCTION, field, invalidArgument, invalidIn, type OptionFields } from '../util/option-fields.ts';
import { shown } from '../util/shown.ts';
import type {
  Binding,
  BindingDefinition,
  BindingDirection,
  BindingOptions,
  BindingRequest,
  BindingResponse,
  DeliverBindingEvent,
} from './binding.ts';
import { BINDING_FIELDS, commonParts } from './binding-options.ts';

/** An operation of a binding: calls the outside, and resolves as {@link Binding.invoke} does. @public */
export type BindingOperation = (
  request: BindingRequest,
) => BindingResponse | undefined | Promise<BindingResponse | undefined>;

/** The parts of a binding for {@link defineBinding}: `operations` for an output binding, `read` for an input binding, or both. @public */
export interface BindingParts extends BindingOptions {
  /** What callers may ask for, by name. Default: none; it is no output binding. */
  readonly operations?: Readonly<Record<string, BindingOperation>> | undefined;
  /** Reads events, as {@link Binding.read} does. Default: it is no input binding. */
  readonly read?: ((deliver: DeliverBindingEvent, signal: AbortSignal) => Promise<void>) | undefined;
  /** Tells why the outside cannot be used at present. Default: it can be. */
  readonly failure?: (() => Error | undefined) | undefined;
  /** Releases what the binding holds; called once, when no event is delivered any more. Default: nothing to release. */
  readonly close?: (() => Promise<void>) | undefined;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const DIRECTIONS: readonly BindingDirection[] = ['input', 'output'];
const OPERATIONS = field(isOperations, 'an object of functions, at least one');
const FIELDS: OptionFields<BindingParts> = {
  ...BINDING_FIELDS,
  operations: OPERATIONS,
  read: FUNCTION,
  failure: FUNCTION,
  close: FUNCTION,
};

/**
 * A binding of your own, from functions. One that needs the context of a component, or an opening that may fail, is a
 * {@link BindingDefinition} with an `open` of its own.
 *
 * @param name - the name in requests, and the application's route without `route`
 * @throws SidecarError `ERR_INVALID_ARGUMENT` for wrong parts, and for neither `operations` nor `read`.
 * @example
 * ```ts
 * const sms = defineBinding('sms', {
 *   operations: {
 *     create: async ({ data, metadata, signal }) => {
 *       const url = `https://sms.internal/to/${encodeURIComponent(metadata.to ?? '')}`;
 *       const { ok, status } = await fetch(url, { method: 'POST', body: Buffer.from(data), signal });
 *       if (!ok) throw new BindingError(`the gateway answered ${status}`);
 *       return undefined;
 *     },
 *   },
 * });
 * ```
 * @public
 */
export function defineBinding(name: string, parts: BindingParts): BindingDefinition {
  if (typeof name !== 'string' || name === '')
    throw invalidArgument(`the name of the binding is ${shown(name)}: expected a text that is not empty`, 'name');
  const what = `parts of binding ${JSON.stringify(name)}`;
  checkOptions(what, parts, FIELDS, invalidIn('parts'));
  const { operations, read } = parts;
  if (operations === undefined && read === undefined)
    throw invalidArgument(`${what}: expected operations, read or both`, 'parts');
  return {
    ...commonParts(parts),
    name,
    type: 'bindings.custom',
    directions: DIRECTIONS.filter((direction) => (direction === 'input' ? read : operations) !== undefined),
    operations: Object.keys(operations ?? {}),
    open: async () => openDefined(parts),
  };
}

function isOperations(value: unknown): boolean {
  if (nameOfKind(value) !== 'an object') return false;
  const functions: unknown[] = Object.values(Object(value));
  return functions.length > 0 && functions.every((one) => typeof one === 'function');
}

function openDefined({ operations, read, failure, close }: BindingParts): Binding {
  let closed: Promise<void> | undefined;
  return {
    // The block has checked that there is such an operation.
    ...(operations === undefined ? {} : { invoke: async (request) => operations[request.operation]?.(request) }),
    ...(read === undefined ? {} : { read: async (deliver, signal) => read(deliver, signal) }),
    get failure() {
      return failure?.();
    },
    close: () => {
      closed ??= Promise.resolve(close?.());
      return closed;
    },
  };
}
