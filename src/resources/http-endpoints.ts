import { baseUrlOf, type HttpEndpointOptions } from '../blocks/invocation/endpoints.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';
import type { ValueSource } from './schema/component.ts';
import type { HttpEndpointSpec } from './schema/http-endpoint.ts';
import { resolveValue, type ValueOrigins } from './values.ts';
import type { YamlPath } from './yaml-document.ts';

/** The HTTP endpoints of resources, with values from secret stores and the environment resolved. */
export function readHttpEndpoints(
  resources: readonly Resource[],
  origins: ValueOrigins,
  report: Report,
): HttpEndpointOptions[] {
  return resources
    .filter(({ kind }) => kind === 'HTTPEndpoint')
    .map((resource) => endpointOf(resource, origins, report));
}

function endpointOf(resource: Resource, origins: ValueOrigins, report: Report): HttpEndpointOptions {
  const { document, name, secretStore } = resource;
  // The cast is safe: the schema of the kind was checked.
  const { baseUrl, headers = [], clientTLS } = resource.spec as HttpEndpointSpec;
  const valueAt = (source: ValueSource, path: YamlPath): string | undefined =>
    resolveValue(source, { document, path: ['spec', ...path], secretStore }, origins, report);
  if (baseUrlOf(baseUrl) === undefined)
    report.problem(
      document.location(['spec', 'baseUrl']),
      'spec.baseUrl has a query, a fragment or credentials: expected none',
    );
  const fields = headers.map((header, index) => [header.name, valueAt(header, ['headers', index]) ?? '']);
  if (clientTLS?.renegotiation !== undefined)
    report.note(
      document.keyLocation(['spec', 'clientTLS'], 'renegotiation'),
      'spec.clientTLS.renegotiation has no use here',
    );
  const tls: { [part in 'rootCA' | 'certificate' | 'privateKey']?: string } = {};
  for (const part of ['rootCA', 'certificate', 'privateKey'] as const) {
    const source = clientTLS?.[part];
    const text = source === undefined ? undefined : valueAt(source, ['clientTLS', part]);
    if (text) tls[part] = text;
  }
  return {
    name,
    baseUrl,
    ...(fields.length === 0 ? {} : { headers: Object.fromEntries(fields) }),
    ...(Object.keys(tls).length === 0 ? {} : { clientTLS: tls }),
  };
}
