import { SidecarError } from '../errors.ts';
import { type JsonSchema, optionsSchema } from '../util/options-schema.ts';

/** A part of the HTTP API. @public */
export interface ApiRule {
  /** The operation: `publish`, `jobs`, `invoke`, `workflows`, `state`, `secrets`, `configuration`, `lock`, `bindings`, `actors`, `metadata`, `placement`, `shutdown`, … */
  readonly name: string;
  /** `v1`, `v1alpha1`, `v1beta1`, or as in paths: `v1.0-alpha1`. Default: every version. */
  readonly version?: string | undefined;
  /** Rules for `grpc` have no effect: there is no gRPC API. Default: `http`. */
  readonly protocol?: 'http' | 'grpc' | undefined;
}

/** Enables parts of the HTTP API. Health is always enabled; the typed classes are not affected. @public */
export interface ApiOptions {
  /** Enable only these, at least one. Default: all. */
  readonly allowed?: readonly ApiRule[] | undefined;
  /** Disable these, even if allowed. Default: none. */
  readonly denied?: readonly ApiRule[] | undefined;
}

const rules = {
  type: 'array',
  maxItems: 1_000,
  items: optionsSchema<ApiRule>(
    {
      name: { type: 'string' },
      version: { type: 'string', pattern: '^v1(\\.0)?(-?(alpha|beta)[0-9])?$' },
      protocol: { enum: ['http', 'grpc'] },
    },
    ['name'],
  ),
};

/** The JSON schema of {@link ApiOptions} in resource files, where an empty list stands for none, as with Dapr. */
export const API_SPEC_SCHEMA: JsonSchema = optionsSchema<ApiOptions>({ allowed: rules, denied: rules });

/**
 * The JSON schema of {@link ApiOptions}. A list that was computed and came out empty is refused: it would enable
 * everything.
 */
export const API_SCHEMA: JsonSchema = optionsSchema<ApiOptions>({
  allowed: {
    ...rules,
    minItems: 1,
    expects: 'a list of at least one rule: leave it out to enable everything, and list in denied what to disable',
  },
  denied: rules,
});

/** Parts of Dapr's API that do not exist here: a list may name them. */
const ABSENT = 'crypto subtlecrypto conversation';
/** Existing parts, some depending on other options. */
const PRESENT =
  'publish jobs invoke workflows state secrets configuration lock unlock bindings actors metadata healthz placement shutdown';
const KNOWN: ReadonlySet<string> = new Set(`${PRESENT} ${ABSENT}`.split(' '));

interface Listed {
  readonly operation: string;
  readonly pattern: string;
}

/**
 * The routes that an application may use; the others behave as if they did not exist.
 *
 * @throws SidecarError `ERR_CONFIGURATION` for an unknown name: a list with a typo would allow too much.
 */
export function permittedRoutes<Row extends Listed>(routes: readonly Row[], options: ApiOptions): Row[] {
  const allowed = readRules(options.allowed, 'allowed');
  const denied = readRules(options.denied, 'denied');
  return routes.filter((row) => {
    if (row.operation === 'healthz') return true;
    if (denied.some((rule) => concerns(rule, row))) return false;
    return allowed.length === 0 || allowed.some((rule) => concerns(rule, row));
  });
}

function readRules(list: readonly ApiRule[] = [], field: string): readonly ApiRule[] {
  for (const [index, { name }] of list.entries()) {
    if (KNOWN.has(name)) continue;
    const message = `options.api.${field}.${index}.name ${JSON.stringify(name)} is not known: expected one of ${PRESENT.replaceAll(' ', ', ')}`;
    throw new SidecarError('ERR_CONFIGURATION', message);
  }
  return list.filter(({ protocol }) => protocol !== 'grpc');
}

function concerns(rule: ApiRule, { operation, pattern }: Listed): boolean {
  if (rule.name !== operation) return false;
  return rule.version === undefined || shortVersion(rule.version) === shortVersion(pattern.split('/')[1] ?? '');
}

/** `v1.0-alpha1` becomes `v1alpha1`; a path without a version counts as `v1`. */
function shortVersion(version: string): string {
  return version.startsWith('v1') ? version.replace('.0', '').replace('-', '') : 'v1';
}
