import { messageOf, SidecarError } from '../../errors.ts';
import type { Sidecar } from '../../sidecar/sidecar.ts';
import { definedOnly } from '../../util/defined-only.ts';
import type { JsonSchema } from '../../util/options-schema.ts';
import { validator } from '../../util/schema.ts';
import { Query } from '../query.ts';
import type { ApiRoute } from '../route.ts';

/** Makes a `GET`: `parameters` are those of its query. */
export function reads(
  path: string,
  parameters: readonly string[],
  answer: (sidecar: Sidecar, query: Query) => Promise<unknown>,
): ApiRoute {
  return {
    ...{ method: 'GET', path, needs: 'read' },
    answer: async ({ sidecar, query }) => ({ json: await answer(sidecar, new Query(query, parameters)) }),
  };
}

/** Makes a `POST` whose body is of a schema. It acts, unless it needs the role `read` only. */
export function acts<Body>(
  path: string,
  schema: JsonSchema,
  answer: (sidecar: Sidecar, body: Body) => Promise<unknown>,
  needs: ApiRoute['needs'] = 'write',
): ApiRoute {
  const problemOf = validator(schema, 'body');
  return {
    ...{ method: 'POST', path, needs },
    answer: async ({ sidecar, query, body }) => {
      new Query(query, []);
      const problem = problemOf(body);
      if (problem !== undefined) throw new SidecarError('ERR_BAD_REQUEST', problem);
      // The cast is safe: the schema is made from the type.
      return { json: await answer(sidecar, body as Body) };
    },
  };
}

export const TEXT = { type: 'string' } as const;
export const NAME = { type: 'string', minLength: 1 } as const;

/** Checks that a field of the body is JSON text, and answers what it means. @throws SidecarError `ERR_BAD_REQUEST`. */
export function jsonIn(field: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new SidecarError('ERR_BAD_REQUEST', `body.${field} is not JSON text: ${messageOf(cause)}`, { cause });
  }
}

/** Like `jsonIn`, for a field that may be absent; answers its text. */
export function jsonTextIn(field: string, text: string | undefined): string | undefined {
  if (text !== undefined) jsonIn(field, text);
  return text;
}

/** A copy without what is undefined, for options. */
export function given<T extends object>(fields: T): { readonly [Name in keyof T]?: Exclude<T[Name], undefined> } {
  // The cast is safe: what is undefined is left out.
  return definedOnly(fields) as { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };
}
