import {
  type Attributes,
  type Context,
  context,
  diag,
  type Link,
  propagation,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  type TextMapSetter,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Message, Trace } from '../components/pubsub.ts';
import type { HeaderMap } from '../http/message.ts';
import type { Ending, Observation, ObservedSidecar, Operation, Probe } from '../probe.ts';
import { ATTRIBUTE } from './conventions.ts';
import { errorTypeOf, type Instruments } from './metrics.ts';
import { planServe, transportContext } from './serve-plan.ts';
import { detailsOf, planSpan, type SpanPlan, type SpanRules } from './span-plan.ts';
import { spanContextOf, traceOf } from './trace-context.ts';

/** The dependencies of an {@link OtelProbe}. */
export interface OtelProbeDeps {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly clock: ObservedSidecar['clock'];
  readonly rules: SpanRules;
  readonly close: () => void;
}

/** Turns operations into spans and measurements. */
export class OtelProbe implements Probe {
  readonly #deps: OtelProbeDeps;

  constructor(deps: OtelProbeDeps) {
    this.#deps = deps;
  }

  begin(operation: Operation): Observation {
    try {
      const { rules } = this.#deps;
      const plan = operation.type === 'serve' ? planServe(operation, rules) : planSpan(operation, rules);
      if (plan !== undefined) return this.#start(operation, plan);
      if (operation.type === 'serve') trace.getActiveSpan()?.setAttribute(ATTRIBUTE.httpRoute, operation.route);
    } catch (error) {
      failed(error);
    }
    return new Unobserved(context.active());
  }

  #start(operation: Operation, { name, kind, parent, links, attributes, startTime }: SpanPlan): Observation {
    // A copy: samplers may add attributes of their own to it.
    const options = { kind, attributes: { ...attributes }, links: links ?? NONE, startTime };
    const span = this.#deps.tracer.startSpan(name, options as SpanOptions, parent);
    if (span.isRecording()) {
      const details = detailsOf(operation);
      if (details !== undefined) span.setAttributes(details);
    }
    return new SpanObservation(operation, span, trace.setSpan(parent, span), this.#deps);
  }

  current(): Trace | undefined {
    return traceOf(trace.getSpanContext(context.active()));
  }

  headers(): HeaderMap {
    return fieldsOf(context.active());
  }

  quietly<T>(work: () => T): T {
    return context.with(transportContext(), work);
  }

  retried(target: { readonly targetType: string; readonly target: string }): void {
    unharmed(() => this.#deps.instruments.retried(target));
  }

  committed(durationMs: number, error?: unknown): void {
    unharmed(() => this.#deps.instruments.committed(durationMs, error));
  }

  close(): void {
    this.#deps.close();
  }
}

const NONE: Link[] = [];

/** Something that is observed elsewhere, or cannot be. */
class Unobserved implements Observation {
  protected readonly context: Context;
  #trace: { readonly value: Trace | undefined } | undefined;

  constructor(of: Context) {
    this.context = of;
  }

  get trace(): Trace | undefined {
    this.#trace ??= { value: traceOf(trace.getSpanContext(this.context)) };
    return this.#trace.value;
  }

  headers(): HeaderMap {
    return fieldsOf(this.context);
  }

  sends(_message: Message): void {}

  run<T>(work: () => T): T {
    return context.with(this.context, work);
  }

  end(_ending?: Ending): void {}
}

class SpanObservation extends Unobserved {
  readonly #operation: Operation;
  readonly #span: Span;
  readonly #deps: OtelProbeDeps;
  readonly #startedAt = performance.now();
  #sent = 0;
  /** Of the last message sent. */
  #last: Attributes = {};
  #hasEnded = false;

  constructor(operation: Operation, span: Span, of: Context, deps: OtelProbeDeps) {
    super(of);
    this.#operation = operation;
    this.#span = span;
    this.#deps = deps;
  }

  /** A message may keep a trace that its publisher has written into it: it is linked. */
  override sends({ id, data, trace: own }: Message): void {
    const span = this.#span;
    this.#sent++;
    unharmed(() => {
      if (!span.isRecording()) return;
      this.#last = { [ATTRIBUTE.messageId]: id, [ATTRIBUTE.messageBytes]: data.length };
      const creation = own?.traceparent === this.trace?.traceparent ? undefined : spanContextOf(own);
      if (creation !== undefined) span.addLink({ context: creation });
    });
  }

  override end(ending: Ending = {}): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    unharmed(() => this.#end(ending));
  }

  #end(ending: Ending): void {
    const { instruments, clock } = this.#deps;
    const operation = this.#operation;
    const durationS = (performance.now() - this.#startedAt) / 1_000;
    const now = clock.now();
    const span = this.#span;
    if (span.isRecording()) this.#describe(ending);
    if (operation.type === 'workflow') span.end(now);
    else span.end();
    instruments.ended({ operation, ending, durationS, sent: this.#sent, now });
  }

  #describe(ending: Ending): void {
    const { failure, status, settled, outcome } = ending;
    const span = this.#span;
    if (this.#sent === 1) span.setAttributes(this.#last);
    if (this.#sent > 1) span.setAttribute(ATTRIBUTE.batchCount, this.#sent);
    if (status !== undefined) span.setAttribute(ATTRIBUTE.httpStatus, status);
    if (settled !== undefined) span.setAttribute(ATTRIBUTE.outcome, settledOutcome(settled));
    if (outcome !== undefined) span.setAttribute(outcomeAttribute(this.#operation), outcome);
    const errorType = errorTypeOf(ending) ?? (this.#isRefusedCall(status) ? String(status) : undefined);
    if (errorType === undefined) return;
    span.setAttribute(ATTRIBUTE.errorType, errorType);
    // A caller's mistake is no error of the server.
    if (this.#operation.type === 'serve' && status !== undefined && status < 500) return;
    if (failure?.thrown?.value instanceof Error) span.recordException(failure.thrown.value);
    span.setStatus({ code: SpanStatusCode.ERROR, ...(failure === undefined ? {} : { message: failure.reason }) });
  }

  #isRefusedCall(status: number | undefined): boolean {
    return this.#operation.type === 'invoke' && status !== undefined && status >= 400;
  }
}

/** The one outcome of all messages, else `mixed`. */
function settledOutcome(settled: readonly string[]): string {
  const [first = ''] = settled;
  return settled.every((one) => one === first) ? first : 'mixed';
}

function outcomeAttribute({ type }: Operation): string {
  return type === 'workflow' ? ATTRIBUTE.workflowStatus : ATTRIBUTE.outcome;
}

const SETTER: TextMapSetter<Record<string, string>> = {
  set: (fields, name, value) => {
    fields[name.toLowerCase()] = value;
  },
};

/** The header fields of a context. Without a propagator, those of W3C. */
function fieldsOf(of: Context): HeaderMap {
  const fields: Record<string, string> = {};
  unharmed(() => propagation.inject(of, fields, SETTER));
  return 'traceparent' in fields ? fields : { ...fields, ...traceOf(trace.getSpanContext(of)) };
}

/** Calls the SDK: a broken one must not break the work that it observes. */
function unharmed(call: () => void): void {
  try {
    call();
  } catch (error) {
    failed(error);
  }
}

function failed(error: unknown): void {
  diag.error('insidecar: telemetry has failed', error);
}
