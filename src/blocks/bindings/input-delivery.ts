import type { AppCall, AppReply } from '../../app/channel.ts';
import type { BindingEvent } from '../../components/binding.ts';
import type { CallResult, Policy, Verdict } from '../../resiliency/policy.ts';
import { NEVER } from '../../util/cancel-token.ts';
import { type CodeCall, CodeCalls } from '../../util/code-calls.ts';
import { Work } from '../../util/work.ts';
import { logged, thrown } from '../failure.ts';
import { AnswerActions } from './answer-actions.ts';
import type { BindingEventContext, BindingHandler } from './binding-handler.ts';
import type { BindingsServiceDeps, InvokeForAnswer } from './bindings-deps.ts';
import { eventHeaders } from './metadata-headers.ts';

/** A function for the events of a binding, and its time limit. */
export interface HandledInput {
  readonly handler: BindingHandler<never>;
  /** In milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
}

/** Where the events of a binding go. */
export interface InputTarget {
  /** The name of the binding. */
  readonly name: string;
  readonly route: string;
  readonly policy: Policy | undefined;
  /** Goes before the application. */
  readonly handled: HandledInput | undefined;
}

const REMEDY = 'the limit is deliveryTimeout (insidecar run: --delivery-timeout); 0 is no limit';

/** Delivers events of input bindings to code or to the application. */
export class InputDelivery {
  readonly #deps: BindingsServiceDeps;
  readonly #actions: AnswerActions;
  readonly #calls: CodeCalls;
  readonly #underWay = new Work();
  /** Bindings whose last delivery has failed: only the first failure in a row is a warning. */
  readonly #failing = new Set<string>();

  constructor(deps: BindingsServiceDeps, invoke: InvokeForAnswer) {
    this.#deps = deps;
    this.#actions = new AnswerActions(deps, invoke);
    this.#calls = new CodeCalls(deps);
  }

  /** Resolves when the event is accepted, and rejects when not. */
  async deliver(target: InputTarget, event: BindingEvent): Promise<void> {
    const { name, policy } = target;
    const done = [this.#underWay.begin(name), this.#deps.work.begin(`delivering an event of binding ${name}`)];
    try {
      await (policy === undefined
        ? this.#attempt(target, event)
        : policy.run(
            NEVER,
            () => this.#attempt(target, event),
            (outcome) => verdictOf(policy, outcome),
          ));
      this.#failing.delete(name);
    } catch (error) {
      this.#logFailure(name, error);
      throw error;
    } finally {
      for (const end of done) end();
    }
  }

  #logFailure(binding: string, error: unknown): void {
    const { logger } = this.#deps;
    const isKnown = this.#failing.has(binding);
    this.#failing.add(binding);
    logger[isKnown ? 'debug' : 'warn']({ binding, ...logged(thrown(error)) }, 'an event of a binding was not accepted');
  }

  #attempt(target: InputTarget, event: BindingEvent): Promise<void> {
    return target.handled === undefined ? this.#toApp(target, event) : this.#toCode(target.name, target.handled, event);
  }

  async #toApp({ name, route }: InputTarget, { data, metadata }: BindingEvent): Promise<void> {
    const { app, timeLimitMs } = this.#deps;
    if (app === undefined) throw new Error('there is neither a handler nor an application');
    const headers = { ...eventHeaders(metadata), 'content-type': 'application/json' };
    const call: AppCall = { method: 'POST', url: route, headers, body: data, timeLimitMs, remedy: REMEDY };
    const reply: AppReply = await app.call(call);
    if (reply.status < 200 || reply.status > 299) throw new RefusedEvent(reply.status);
    await this.#actions.follow(name, reply.body);
  }

  async #toCode(binding: string, { handler, timeLimitMs }: HandledInput, event: BindingEvent): Promise<void> {
    const call = this.#calls.begin(binding, timeLimitMs, () => ({ binding }));
    try {
      const received = new ReceivedBindingEvent(binding, event, call);
      // The type of the data is known only to the code that handles them.
      await this.#deps.apart()(() => handler(received.data as never, received));
      if (call.overdue !== undefined) throw call.overdue;
    } finally {
      this.#calls.end(call);
    }
  }

  /** Waits for the deliveries within the grace period of a stop. */
  async stop(): Promise<void> {
    await this.#calls.stop(this.#underWay, this.#deps.gracePeriodMs, new Error('the sidecar is stopping'));
  }
}

/** The application has answered a status that is no success. */
class RefusedEvent extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the application answered ${status}`);
    this.status = status;
  }
}

function verdictOf(policy: Policy, outcome: CallResult<void>): Verdict {
  if ('value' in outcome) return 'success';
  if (!(outcome.error instanceof RefusedEvent)) return 'retry';
  return policy.verdictOf(outcome.error.status) === 'failure' ? 'failure' : 'retry';
}

class ReceivedBindingEvent implements BindingEventContext {
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly #call: CodeCall;

  constructor(name: string, { data, metadata }: BindingEvent, call: CodeCall) {
    this.name = name;
    this.metadata = metadata;
    this.bytes = data;
    this.#call = call;
  }

  /** JSON is parsed; anything else is a text. */
  get data(): unknown {
    if (this.bytes.length === 0) return undefined;
    const text = Buffer.from(this.bytes).toString();
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}
