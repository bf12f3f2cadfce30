import { SidecarError } from '../errors.ts';
import { type JsonSchema, optionsSchema } from '../util/options-schema.ts';
import { validator } from '../util/schema.ts';
import { TRUST_DOMAIN } from './identity-options.ts';

/** What a rule says; in any case. @public */
export type AccessAction = 'allow' | 'deny';

/** A rule for some paths and verbs. @public */
export interface AccessOperation {
  /**
   * The path, decoded, such as `/orders`. `*` as the last segment stands for one segment, elsewhere for any part of
   * one; a last segment `**` stands for all that follows, nothing included. A call goes through when the first
   * operation that matches allows it, as with Dapr, and so does the most specific one. A deny also covers what lies
   * below its path; a final `/*` of a deny counts like `/**`.
   */
  readonly name: string;
  /** `GET`, `HEAD`, `POST`, `PUT`, `DELETE`, `CONNECT`, `OPTIONS`, `TRACE`, `PATCH`, or `*` for all. */
  readonly httpVerb: readonly string[];
  /** What happens to such a call. */
  readonly action: AccessAction;
}

/** What one application may call. @public */
export interface AccessPolicy {
  /** The caller's app ID. */
  readonly appId: string;
  /** The caller's namespace. */
  readonly namespace: string;
  /** The trust domain that its token must name; a caller of another counts as one without a policy. */
  readonly trustDomain: string;
  /** What happens to calls that no operation names. Default: the `defaultAction` of all. */
  readonly defaultAction?: AccessAction;
  /** Rules, the more specific ones first. Default: none. */
  readonly operations?: readonly AccessOperation[];
}

/** Who may call the application through other sidecars, in the form of Dapr's `accessControl`. @public */
export interface AccessControlOptions {
  /** What happens to callers without a policy and to those that do not prove who they are. Default `deny`. */
  readonly defaultAction?: AccessAction;
  /** The trust domain of this application, unless `identity` names one. Default `public`. */
  readonly trustDomain?: string;
  /** One for each caller (app ID and namespace), in whatever order. Default: none. */
  readonly policies?: readonly AccessPolicy[];
}

/** Bounds on the work that one call can make. */
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

/** What {@link AccessControlOptions} must look like; resource files are checked with it too. */
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

/** A verb as it stands. @throws SidecarError `ERR_CONFIGURATION` for one that would name no request. */
export function readVerb(verb: string, where: string): string {
  if (verb === '*' || ACCESS_VERBS.has(verb)) return verb;
  const expected = `${[...ACCESS_VERBS].join(', ')} or "*"`;
  throw accessProblem(`${where}.httpVerb has ${JSON.stringify(verb)}: expected ${expected}`);
}

/** An action in small letters. */
export function readAction(action: string): AccessAction {
  return action.toLowerCase() === 'allow' ? 'allow' : 'deny';
}
