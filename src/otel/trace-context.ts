import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api';
import type { Trace } from '../components/pubsub.ts';

/*
 * W3C trace contexts as text. Messages, jobs and workflows store this form whatever propagator the application has:
 * a CloudEvent's `traceparent` is defined so.
 */

/** Version, trace, parent and flags; later versions than 00 may have more behind them. */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The span context of a trace; `undefined` if it is malformed. */
export function spanContextOf(trace: Trace | undefined): SpanContext | undefined {
  if (trace === undefined || !TRACEPARENT.test(trace.traceparent)) return undefined;
  const { traceparent } = trace;
  const context: SpanContext = {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16),
    isRemote: true,
  };
  if (!isSpanContextValid(context)) return undefined;
  return trace.tracestate === undefined ? context : { ...context, traceState: createTraceState(trace.tracestate) };
}

/** The text of a span context; `undefined` if it belongs to no trace. */
export function traceOf(context: SpanContext | undefined): Trace | undefined {
  if (context === undefined || !isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = context;
  const traceparent = `00-${traceId}-${spanId}-${flagsOf(traceFlags)}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

/** Trace flags as two hexadecimal digits. */
export function flagsOf(traceFlags: number): string {
  return (traceFlags & 0xff).toString(16).padStart(2, '0');
}
