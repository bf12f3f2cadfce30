import { isError } from '../errors.ts';
import type { ComponentContext, OpenStore, StoreDefinition } from './component.ts';

/** A direction of a binding: `output`, the application calls the outside; `input`, the outside calls the application. @public */
export type BindingDirection = 'input' | 'output';

/** A call of an output binding. @public */
export interface BindingRequest {
  /** One of the operations of the definition. */
  readonly operation: string;
  /** The data as JSON text in UTF-8, as the caller wrote it; `null` if the caller gave none. */
  readonly data: Uint8Array;
  /** By name. The object has no prototype. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields `traceparent` and `tracestate` for the outside, if the call is part of a trace. */
  readonly traceHeaders: Readonly<Record<string, string>>;
  /** Aborted when the caller has gone, or a policy has ended the attempt. */
  readonly signal: AbortSignal;
}

/** The answer of an output binding. @public */
export interface BindingResponse {
  /** The answer's body. Default: none. */
  readonly data?: Uint8Array | undefined;
  /** By name. Default: none. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Something that happened outside, for the application. @public */
export interface BindingEvent {
  /** The body of the delivery; empty without one. */
  readonly data: Uint8Array;
  /** By name; to an application each is a header of that name. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Delivers an event to the application. Resolves when the application has accepted it, and rejects when not: the binding
 * then decides whether it comes again.
 *
 * @public
 */
export type DeliverBindingEvent = (event: BindingEvent) => Promise<void>;

/**
 * An open binding. Errors are shown to the application: their messages must contain no password, address, path or
 * statement.
 *
 * @public
 */
export interface Binding extends OpenStore {
  /**
   * Calls the outside. Resolves with `undefined` if there is nothing to answer (204); an answer without data is 200 with
   * an empty body. Absent: no output binding.
   */
  invoke?(request: BindingRequest): Promise<BindingResponse | undefined>;
  /**
   * Delivers what happens outside until the signal is aborted, and resolves when no delivery is under way any more. If
   * it ends before that, it is called again after a while. Absent: no input binding.
   */
  read?(deliver: DeliverBindingEvent, signal: AbortSignal): Promise<void>;
}

/** Options of bindings of any technology. @public */
export interface BindingOptions {
  /**
   * How it is used: `input` reads without asking the application, only `output` never reads, only `input` cannot be
   * called. Default: both as far as the type allows, and the application is asked with `OPTIONS` whether it wants the
   * events.
   */
  readonly direction?: readonly BindingDirection[] | undefined;
  /** The path of the application's route for events, such as `/ticks`. Default: `/` and the name. */
  readonly route?: string | undefined;
}

/** An unopened binding, as passed to a sidecar. @public */
export interface BindingDefinition extends StoreDefinition {
  /** The building block. */
  readonly block: 'bindings';
  /** The directions that the type has. */
  readonly directions: readonly BindingDirection[];
  /** The operations of an output binding, case-sensitive; empty if it is not one. */
  readonly operations: readonly string[];
  /** How it is used. */
  readonly options: BindingOptions;
  /** Opens the binding for one sidecar. */
  open(context: ComponentContext): Promise<Binding>;
}

/** The failure of a call, with what the outside system said about it. @public */
export class BindingError extends Error {
  /** `BindingError`. */
  override readonly name = 'BindingError';
  /** As of an answer: the application gets it together with the error. */
  readonly metadata: Readonly<Record<string, string>>;

  constructor(message: string, metadata: Readonly<Record<string, string>> = {}, options?: ErrorOptions) {
    super(message, options);
    this.metadata = metadata;
  }
}

/** The metadata of a failure; it may come from another copy of this package. */
export function metadataOfError(error: unknown): Readonly<Record<string, string>> {
  return isError(error) && error.name === 'BindingError' ? ((error as BindingError).metadata ?? {}) : {};
}

/** Whether a binding is used in a direction. */
export function isUsedFor({ directions, options }: BindingDefinition, direction: BindingDirection): boolean {
  return directions.includes(direction) && (options.direction ?? directions).includes(direction);
}
