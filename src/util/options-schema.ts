import { DURATION_FORMS, type Duration } from './duration.ts';

/** A JSON schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The schema of a count or a time, such as {@link POSITIVE}. */
type NumberSchema = {
  readonly type: 'integer' | 'number';
  readonly minimum: number;
  readonly maximum?: number;
};

/** The schema of a {@link Duration}, such as {@link DURATION}. */
type DurationSchema = { readonly isDuration: readonly [minMs: number, maxMs: number]; readonly expects: string };

type TextSchema<Text> =
  | {
      readonly type: 'string';
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly pattern?: string;
      /** The values that the pattern stands for, in words. */
      readonly expects?: string;
    }
  | { readonly enum: readonly Text[] }
  // Validated elsewhere.
  | Readonly<Record<string, never>>;

/** The schema type of these values; not specific for objects and lists. */
type SchemaOf<Value> = [Value] extends [number]
  ? NumberSchema
  : [Value] extends [Duration]
    ? DurationSchema
    : [Value] extends [boolean]
      ? { readonly type: 'boolean' }
      : [Value] extends [string]
        ? TextSchema<Value>
        : JsonSchema;

type NamesOf<Options> = Options extends unknown ? keyof Options : never;
type ValueOf<Options, Name> = Options extends unknown ? (Name extends keyof Options ? Options[Name] : never) : never;
type RequiredNamesOf<Options> = {
  [Name in keyof Options]-?: object extends Pick<Options, Name> ? never : Name;
}[keyof Options];

/** One schema per option; for options from JSON, where `null` means absent. */
export type SchemasOf<Options> = { readonly [Name in keyof Options]-?: JsonSchema };

/** One or more. */
export const POSITIVE: NumberSchema = { type: 'integer', minimum: 1 };
/** Zero or more. */
export const NOT_NEGATIVE: NumberSchema = { type: 'integer', minimum: 0 };
/** A time that may be none. */
export const DURATION: DurationSchema = { isDuration: [0, Number.MAX_SAFE_INTEGER], expects: DURATION_FORMS };
/** A time of a millisecond or more. */
export const POSITIVE_DURATION: DurationSchema = {
  isDuration: [1, Number.MAX_SAFE_INTEGER],
  expects: `${DURATION_FORMS}, of 1 ms or more`,
};

/** The JSON schema of options: the compiler requires every option, and validation rejects all others. */
export function optionsSchema<Options extends object>(
  properties: { readonly [Name in NamesOf<Options>]: SchemaOf<Exclude<ValueOf<Options, Name>, undefined>> },
  required: readonly RequiredNamesOf<Options>[] = [],
): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length === 0 ? undefined : { required }),
    properties,
  };
}
