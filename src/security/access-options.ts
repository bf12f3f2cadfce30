import { SidecarError } from '../errors.ts';
import { type JsonSchema, optionsSchema } from '../util/options-schema.ts';
import { validator } from '../util/schema.ts';
import { TRUST_DOMAIN } from './identity-options.ts';

/** The action of a rule; in any case. @public */
export type AccessAction = 'allow' | 'deny';

/** A rule for some paths and verbs. @public */
export interface AccessOperation {
  /**
   * The path, decoded, such as `/orders`. `*` as the last segment matches one segment, elsewhere any part of one; a
   * last segment `**` matches everything that follows, even nothing. A call is allowed if both the first matching
   * operation, as with Dapr, and the most specific one allow it. A deny also covers everything below its path; a final
   * `/*` of a deny counts as `/**`.
   */
  readonly name: string;
  /** `GET`, `HEAD`, `POST`, `PUT`, `DELETE`, `CONNECT`, `OPTIONS`, `TRACE`, `PATCH`, or `*` for all. */
  readonly httpVerb: readonly string[];
  /** The action for matching calls. */
  readonly action: AccessAction;
}

/** The rules of one calling application. @public */
export interface AccessPolicy {
  /** The caller's app ID. */
  readonly appId: string;
  /** The caller's namespace. */
  readonly namespace: string;
  /** The trust domain that its token must name; a caller from another one is treated as having no policy. */
  readonly trustDomain: string;
  /** The action for calls that match no operation. Default: the `defaultAction` of all policies. */
  readonly defaultAction?: AccessAction | undefined;
  /** Rules, the more specific ones first. Default: none. */
  readonly operations?: readonly AccessOperation[] | undefined;
}

/** Which applications may call this one through their sidecars, in the form of Dapr's `accessControl`. @public */
export interface AccessControlOptions {
  /** The action for callers without a policy and for unauthenticated callers. Default: `deny`. */
  readonly defaultAction?: AccessAction | undefined;
  /** The trust domain of this application, unless `identity` names one. Default: `public`. */
  readonly trustDomain?: string | undefined;
  /** One policy per caller (app ID and namespace), in any order. Default: none. */
  readonly policies?: readonly AccessPolicy[] | undefined;
}

/** Limits on the work per call. */
export const ACCESS_LIMITS = { policies: 10_000, operations: 10_000, nameLength: 1_024, segments: 64 };

const action = { type: 'string', pattern: '^([aA][lL][lL][oO][wW]|[dD][eE][nN][yY])$' } as const;
const trustDomain = { type: 'string', pattern: TRUST_DOMAIN } as const;
const name = { type: 'string', pattern: '^[^./\\s]{1,256}$' } as const;

const operation = optionsSchema<AccessOperation>(
  {
    name: { type: 'string', minLength: 1, maxLength: ACCESS_LIMITS.nameLength },
    httpVerb: { type: 'array', minItems: 1, maxItems: 64, items: { type: 'string' } },
    action,
  },
  ['name', 'httpVerb', 'action'],
);
const policy = optionsSchema<AccessPolicy>(
  {
    appId: name,
    namespace: name,
    trustDomain,
    defaultAction: action,
    operations: { type: 'array', maxItems: ACCESS_LIMITS.operations, items: operation },
  },
  ['appId', 'namespace', 'trustDomain'],
);

/** The JSON schema of {@link AccessControlOptions}, also for resource files. */
export const ACCESS_CONTROL_SCHEMA: JsonSchema = optionsSchema<AccessControlOptions>({
  defaultAction: action,
  trustDomain,
  policies: { type: 'array', maxItems: ACCESS_LIMITS.policies, items: policy },
});

const problemOf = validator(ACCESS_CONTROL_SCHEMA, 'options.accessControl');

/** @throws SidecarError `ERR_CONFIGURATION` naming the field, its value and what was expected. */
export function checkAccessControl(options: AccessControlOptions): void {
  const problem = problemOf(options);
  if (problem !== undefined) throw accessProblem(problem);
}

export function accessProblem(message: string): SidecarError {
  return new SidecarError('ERR_CONFIGURATION', message);
}

/** The methods that policies can name; others count as POST. */
export const ACCESS_VERBS: ReadonlySet<string> = new Set(
  'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '),
);

/** Validates a verb. @throws SidecarError `ERR_CONFIGURATION` for a verb that matches no request. */
export function readVerb(verb: string, where: string): string {
  if (verb === '*' || ACCESS_VERBS.has(verb)) return verb;
  const expected = `${[...ACCESS_VERBS].join(', ')} or "*"`;
  throw accessProblem(`${where}.httpVerb has ${JSON.stringify(verb)}: expected ${expected}`);
}

/** An action in lower case. */
export function readAction(action: string): AccessAction {
  return action.toLowerCase() === 'allow' ? 'allow' : 'deny';
}
