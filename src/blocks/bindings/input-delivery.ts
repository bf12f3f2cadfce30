import type { AppCall, AppReply } from '../../app/channel.ts';
import type { BindingEvent } from '../../components/binding.ts';
import { messageOf } from '../../errors.ts';
import type { HeaderMap } from '../../http/message.ts';
import { traceOfHeaders } from '../../http/trace-headers.ts';
import { observe } from '../../probe.ts';
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

/** The last events of a binding. */
export interface LastEvents {
  /** When the last one was accepted. */
  readonly acceptedAt?: number;
  /** When the last one was not accepted, and why. */
  readonly failedAt?: number;
  readonly reason?: string;
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

const NO_HEADERS: HeaderMap = {};
const REMEDY = 'the limit is deliveryTimeout (insidecar run: --delivery-timeout); 0 is no limit';

/** Delivers events of input bindings to code or to the application. */
export class InputDelivery {
  readonly #deps: BindingsServiceDeps;
  readonly #actions: AnswerActions;
  readonly #calls: CodeCalls;
  readonly #underWay = new Work();
  /** Bindings whose last delivery has failed: only the first failure in a row is a warning. */
  readonly #failing = new Set<string>();
  readonly #last = new Map<string, LastEvents>();

  constructor(deps: BindingsServiceDeps, invoke: InvokeForAnswer) {
    this.#deps = deps;
    this.#actions = new AnswerActions(deps, invoke);
    this.#calls = new CodeCalls(deps);
  }

  /** The last events of a binding in this process. */
  last(name: string): LastEvents {
    return this.#last.get(name) ?? {};
  }

  /** Resolves when the event is accepted, and rejects when not. */
  async deliver(target: InputTarget, event: BindingEvent): Promise<void> {
    const { name, policy } = target;
    const startedAt = this.#deps.clock.now();
    const done = [this.#underWay.begin(name), this.#deps.work.begin(`delivering an event of binding ${name}`)];
    try {
      await (policy === undefined
        ? this.#observed(target, event)
        : policy.run(
            NEVER,
            () => this.#observed(target, event),
            (outcome) => verdictOf(policy, outcome),
          ));
      this.#accepted(name, startedAt);
    } catch (error) {
      this.#failed(name, startedAt, error);
      throw error;
    } finally {
      for (const end of done) end();
    }
  }

  #accepted(bindingName: string, startedAt: number): void {
    const { clock, events } = this.#deps;
    const now = clock.now();
    this.#failing.delete(bindingName);
    this.#last.set(bindingName, { ...this.#last.get(bindingName), acceptedAt: now });
    if (events.listenerCount('bindingDelivered') > 0)
      events.emit('bindingDelivered', { bindingName, durationMs: now - startedAt });
  }

  #failed(binding: string, startedAt: number, error: unknown): void {
    const { logger, clock, events } = this.#deps;
    const now = clock.now();
    const reason = messageOf(error);
    this.#last.set(binding, { ...this.#last.get(binding), failedAt: now, reason });
    if (events.listenerCount('bindingFailed') > 0)
      events.emit('bindingFailed', { bindingName: binding, durationMs: now - startedAt, reason, error });
    const isKnown = this.#failing.has(binding);
    this.#failing.add(binding);
    logger[isKnown ? 'debug' : 'warn']({ binding, ...logged(thrown(error)) }, 'an event of a binding was not accepted');
  }

  async #observed(target: InputTarget, event: BindingEvent): Promise<void> {
    const { probe } = this.#deps;
    if (probe === undefined) return this.#attempt(target, event, NO_HEADERS);
    const trace = traceOfHeaders(event.metadata);
    const operation = { type: 'bindingEvent', bindingName: target.name, trace } as const;
    await observe(probe, operation, async (observation) => {
      try {
        await this.#attempt(target, event, observation.headers());
      } catch (error) {
        if (error instanceof RefusedEvent)
          observation.end({ failure: { reason: error.message, status: error.status } });
        throw error;
      }
    });
  }

  #attempt(target: InputTarget, event: BindingEvent, traceHeaders: HeaderMap): Promise<void> {
    return target.handled === undefined
      ? this.#toApp(target, event, traceHeaders)
      : this.#toCode(target.name, target.handled, event);
  }

  async #toApp({ name, route }: InputTarget, { data, metadata }: BindingEvent, traceHeaders: HeaderMap): Promise<void> {
    const { app, timeLimitMs } = this.#deps;
    if (app === undefined) throw new Error('there is neither a handler nor an application');
    const headers = { ...eventHeaders(metadata), ...traceHeaders, 'content-type': 'application/json' };
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
