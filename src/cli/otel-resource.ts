/** The variables of OpenTelemetry that name what is observed. */
const SERVICE_NAME = 'OTEL_SERVICE_NAME';
const ATTRIBUTES = 'OTEL_RESOURCE_ATTRIBUTES';

/**
 * The attributes of a resource in the environment: `key=value` with commas between them, percent-encoded, and the name
 * of the service. Entries that cannot be read are left out, as OpenTelemetry's own detectors do.
 */
export function resourceAttributes(environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const pairs = (environment[ATTRIBUTES] ?? '').split(',').flatMap((pair): [string, string][] => {
    const [, key = '', value = ''] = /^\s*([^=]+?)\s*=\s*(.*?)\s*$/s.exec(pair) ?? [];
    const text = decoded(value);
    return key === '' || text === undefined ? [] : [[key, text]];
  });
  const name = environment[SERVICE_NAME];
  return { ...Object.fromEntries(pairs), ...(name ? { 'service.name': name } : {}) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
