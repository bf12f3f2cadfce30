import { mayReadVariable, readVariable } from '../components/local/environment-secrets.ts';

/**
 * Replaces `$NAME` and `${NAME}` in all strings of a value, as Dapr does in Configuration files; unset variables become
 * empty. Done after parsing, so that the content of a variable cannot change the structure.
 */
export function expandVariables(value: unknown, environment: NodeJS.ProcessEnv): unknown {
  if (typeof value === 'string') return expandText(value, environment);
  if (Array.isArray(value)) return value.map((item) => expandVariables(item, environment));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expandVariables(item, environment)]));
}

function expandText(text: string, environment: NodeJS.ProcessEnv): string {
  return text.replaceAll(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? '';
    return mayReadVariable(name) ? (readVariable(environment, name) ?? '') : '';
  });
}
