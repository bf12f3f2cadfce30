import type { Trace } from '../../../components/pubsub.ts';
import { type HeaderMap, headerOf } from '../../../http/message.ts';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The trace that a request belongs to (W3C Trace Context, section 3.2); none when it names none or a malformed one. */
export function traceOfHeaders(headers: HeaderMap): Trace | undefined {
  const traceparent = headerOf(headers, 'traceparent');
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return undefined;
  const tracestate = headerOf(headers, 'tracestate');
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
