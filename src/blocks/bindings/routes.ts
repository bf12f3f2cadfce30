import { readContent } from '../../http/content.ts';
import {
  cancelTokenOf,
  EMPTY_BODY,
  NO_CONTENT,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import { type Route, route } from '../../http/router.ts';
import { traceOfHeaders } from '../../http/trace-headers.ts';
import type { Wire } from '../../wire.ts';
import type { BindingsService } from './bindings-service.ts';
import { metadataHeaders } from './metadata-headers.ts';
import { parseInvocation } from './parse-invocation.ts';

export interface BindingRoutesDeps {
  readonly bindings: BindingsService;
  readonly wire: Wire;
  readonly bodyLimitBytes: number;
}

/** The route of output bindings. */
export function bindingRoutes({ bindings, wire, bodyLimitBytes }: BindingRoutesDeps): Route[] {
  const invoke = async (request: SidecarRequest, { name }: { readonly name: string }): Promise<SidecarResponse> => {
    const invocation = parseInvocation(await readContent(request, bodyLimitBytes), wire);
    const trace = traceOfHeaders(request.headers);
    const answer = await bindings.invoke(name, invocation, { cancel: cancelTokenOf(request), trace });
    if (answer === undefined) return NO_CONTENT;
    const headers = { ...metadataHeaders(answer.metadata ?? {}), 'content-type': 'application/json' };
    return { status: 200, headers, body: answer.data ?? EMPTY_BODY };
  };
  return [route('bindings', ['POST', 'PUT'], '/v1.0/bindings/:name', invoke)];
}
