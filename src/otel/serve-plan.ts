import {
  type Context,
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  type TextMapGetter,
  trace,
} from '@opentelemetry/api';
import { type HeaderMap, headerOf } from '../http/message.ts';
import type { ServeOperation } from '../probe.ts';
import { ATTRIBUTE } from './conventions.ts';
import { methodOf, type SpanPlan, type SpanRules } from './span-plan.ts';
import { spanContextOf } from './trace-context.ts';

/** The key by which OpenTelemetry's instrumentations and SDK are told to be silent; by name, it is the same in all. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');
/** Marks the transport of a call, which may end in another sidecar of this process. */
const TRANSPORT = createContextKey('insidecar.transport');

/** The context for the transport of a call that has a span already. */
export function transportContext(): Context {
  return context.active().setValue(SUPPRESSED, true).setValue(TRANSPORT, true);
}

const FIELDS: TextMapGetter<HeaderMap> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => headerOf(headers, name.toLowerCase()),
};

/** The span of a request; `undefined` if the request is observed already, such as by an instrumented server. */
export function planServe(
  { method, path, route, headers }: ServeOperation,
  { common }: SpanRules,
): SpanPlan | undefined {
  const active = context.active();
  const isTransport = active.getValue(TRANSPORT) === true;
  if (!isTransport && trace.getSpanContext(active) !== undefined) return undefined;
  const known = methodOf(method);
  return {
    name: `${known === method ? method : 'HTTP'} ${route}`,
    kind: SpanKind.SERVER,
    attributes: {
      ...common,
      [ATTRIBUTE.httpMethod]: known,
      [ATTRIBUTE.httpRoute]: route,
      [ATTRIBUTE.urlPath]: path,
      [ATTRIBUTE.urlScheme]: 'http',
    },
    parent: extracted(isTransport ? ROOT_CONTEXT : active, headers),
  };
}

/** The caller's context. Without a propagator, W3C's fields still count. */
function extracted(base: Context, headers: HeaderMap): Context {
  const found = propagation.extract(base, headers, FIELDS);
  if (trace.getSpanContext(found) !== undefined) return found;
  const traceparent = headerOf(headers, 'traceparent');
  const tracestate = headerOf(headers, 'tracestate');
  const parent = traceparent && spanContextOf(tracestate === undefined ? { traceparent } : { traceparent, tracestate });
  return parent ? trace.setSpanContext(found, parent) : found;
}
