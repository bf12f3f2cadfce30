import type { Membership } from '../../cluster/membership.ts';
import { type BindingDefinition, type BindingResponse, isUsedFor } from '../../components/binding.ts';
import { isApiError } from '../../errors.ts';
import { observe } from '../../probe.ts';
import { type CancelToken, NEVER, signalOfCancelToken } from '../../util/cancel-token.ts';
import { outside } from '../../util/outside.ts';
import type { TraceContext } from '../../util/stored-trace.ts';
import type { BlockService } from '../block-service.ts';
import { logged, thrown } from '../failure.ts';
import { Stores } from '../stores.ts';
import type { BindingsServiceDeps, NamedBinding } from './bindings-deps.ts';
import { invokeFailed, notAnOutput, unknownBindingOperation } from './errors.ts';
import type { HandledInput } from './input-delivery.ts';
import { type InputState, Inputs } from './inputs.ts';
import type { BindingInvocation } from './parse-invocation.ts';

/** A call's part that is not in its body. */
interface CallContext {
  readonly cancel?: CancelToken;
  readonly trace?: TraceContext | undefined;
}

/** Calls output bindings, and delivers the events of input bindings. */
export class BindingsService implements BlockService {
  readonly #deps: BindingsServiceDeps;
  readonly stores: Stores<BindingDefinition>;
  readonly #inputs: Inputs;

  constructor(deps: BindingsServiceDeps) {
    this.#deps = deps;
    this.stores = new Stores<BindingDefinition>({ ...deps, block: 'bindings', capabilitiesOf });
    this.#inputs = new Inputs(deps, (name, invocation) => this.#invoke(name, invocation));
  }

  /**
   * Calls an output binding; `undefined` if it has no answer.
   *
   * @throws SidecarError `ERR_INVOKE_OUTPUT_BINDING`, and if the sidecar accepts no work now.
   */
  invoke(name: string, invocation: BindingInvocation, context: CallContext = {}): Promise<BindingResponse | undefined> {
    this.#deps.admit();
    return this.#invoke(name, invocation, context);
  }

  async #invoke(
    name: string,
    invocation: BindingInvocation,
    context: CallContext = {},
  ): Promise<BindingResponse | undefined> {
    const named = this.stores.find(name);
    const { definition } = named;
    if (!isUsedFor(definition, 'output')) throw notAnOutput(name);
    const { operation } = invocation;
    if (!definition.operations.includes(operation))
      throw unknownBindingOperation(name, operation, definition.operations);
    try {
      const { probe } = this.#deps;
      if (probe === undefined) return await this.#call(named, invocation, context);
      const about = { type: 'store', block: 'bindings', action: operation, storeName: name } as const;
      return await observe(probe, about, (observation) =>
        this.#call(named, invocation, context, observation.headers()),
      );
    } catch (error) {
      if (isApiError(error) && error.code === 'ERR_SHUTTING_DOWN') throw error;
      // Its causes may have addresses and statements, which the caller must not see.
      this.#deps.logger.debug({ binding: name, operation, ...logged(thrown(error)) }, 'a call of a binding has failed');
      throw invokeFailed(name, error);
    }
  }

  #call(
    { store, policy }: NamedBinding,
    invocation: BindingInvocation,
    { cancel = NEVER, trace }: CallContext,
    observed?: object,
  ): Promise<BindingResponse | undefined> {
    // The cast is safe: what a trace does not have is no member of it.
    const traceHeaders = { ...trace, ...observed } as Readonly<Record<string, string>>;
    const attempt = (token: CancelToken): Promise<BindingResponse | undefined> =>
      outside(async () => store.invoke?.({ ...invocation, traceHeaders, signal: signalOfCancelToken(token) }));
    if (policy === undefined) return attempt(cancel);
    return policy.run(cancel, attempt, (outcome) => ('value' in outcome ? 'success' : 'retry'));
  }

  /** Has code handle the events of an input binding. Ends with the result's disposal. */
  on(name: string, handled: HandledInput): Disposable {
    return this.#inputs.on(name, handled);
  }

  /** The operations that callers may ask for. */
  operations({ definition }: NamedBinding): readonly string[] {
    return isUsedFor(definition, 'output') ? definition.operations : [];
  }

  /** How an input binding is used; `undefined` if it is none. */
  input(name: string): InputState | undefined {
    return this.#inputs.state(name);
  }

  async open(membership: Membership): Promise<void> {
    await this.stores.open(membership);
    this.#inputs.open(this.stores.list());
  }

  start(isAtRest: boolean): void {
    if (!isAtRest) this.#inputs.start();
  }

  /** Reads nothing new, and waits for the events that are being delivered. */
  stop(): Promise<void> {
    return this.#inputs.stop();
  }

  /** Closes the bindings. */
  close(): Promise<void> {
    return this.stores.close();
  }
}

function capabilitiesOf({ definition }: NamedBinding): readonly string[] {
  return [
    ...(isUsedFor(definition, 'input') ? ['INPUT_BINDING'] : []),
    ...(isUsedFor(definition, 'output') ? ['OUTPUT_BINDING'] : []),
  ];
}
