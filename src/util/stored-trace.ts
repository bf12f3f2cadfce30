/** A W3C trace context as it is stored: `traceparent`, and `tracestate` if there is one. */
export type StoredTrace = readonly [traceparent: string, tracestate?: string];

/** A W3C trace context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export function storedTrace({ traceparent, tracestate }: TraceContext): StoredTrace {
  return tracestate === undefined ? [traceparent] : [traceparent, tracestate];
}

export function traceOfStored([traceparent, tracestate]: StoredTrace): TraceContext {
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
