import type { TraceContext } from '../util/stored-trace.ts';
import { type HeaderMap, headerOf } from './message.ts';

/** Version 00 ends after the flags; later versions may have more behind them. */
const TRACEPARENT = /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/**
 * The trace in the headers of a request (W3C Trace Context, section 3.2); `undefined` if it is missing or malformed.
 */
export function traceOfHeaders(headers: HeaderMap): TraceContext | undefined {
  const traceparent = headerOf(headers, 'traceparent');
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return undefined;
  const tracestate = headerOf(headers, 'tracestate');
  return tracestate ? { traceparent, tracestate } : { traceparent };
}
