import { NO_METADATA } from '../components/pubsub.ts';
import { isJsonObject, kindOfJson } from '../util/json-text.ts';
import { inSchemaCase } from '../util/schema-case.ts';
import type { Wire } from '../wire.ts';

/** Metadata of a request by name. The object has no prototype, so any name is safe. */
export type Metadata = Readonly<Record<string, string>>;

export { NO_METADATA };

/** How a block reads metadata. */
export interface MetadataForm {
  readonly wire: Wire;
  /** Has the names that the block understands as `properties`: on a wire with keys in any case, they get this case. */
  readonly known: object;
}

/** The {@link MetadataForm.known} names as a form has them. */
export function knownMetadata(names: readonly string[]): object {
  return { properties: Object.fromEntries(names.map((name) => [name, {}])) };
}

/** Makes metadata from entries; later entries win. */
export function metadataFrom(entries: Iterable<readonly [string, string]>): Metadata {
  const metadata = Object.create(null) as Record<string, string>;
  for (const [name, value] of entries) metadata[name] = value;
  return metadata;
}

const PREFIX = 'metadata.';

/** The `metadata.<name>` parameters of a query, without the prefix. If one is repeated, the first wins. */
export function metadataOfQuery(search: string, query: () => URLSearchParams, form: MetadataForm): Metadata {
  if (search === '') return NO_METADATA;
  const entries = [...query()].filter(([name]) => name.startsWith(PREFIX) && name.length > PREFIX.length);
  return inKnownCase(
    entries.reverse().map(([name, value]) => [name.slice(PREFIX.length), value] as const),
    form,
  );
}

/**
 * The metadata in a body: an object of strings as JSON text. Absent and `null` mean no metadata.
 *
 * @throws the error that `refuse` makes of the problem.
 */
export function metadataOfJson(
  text: string | undefined,
  form: MetadataForm,
  refuse: (problem: string) => Error,
): Metadata {
  const value: unknown = text === undefined ? null : JSON.parse(text);
  if (value === null) return NO_METADATA;
  if (!isJsonObject(value)) throw refuse(`metadata is ${kindOfJson(value)}: expected an object of strings`);
  const entries = Object.entries(value).map(([name, one]): [string, string] => {
    if (typeof one !== 'string') throw refuse(`metadata.${name} is ${kindOfJson(one)}: expected a string`);
    return [name, one];
  });
  return inKnownCase(entries, form);
}

/** Unknown names keep their case: they are data. */
function inKnownCase(entries: readonly (readonly [string, string])[], { wire, known }: MetadataForm): Metadata {
  if (!wire.keysInAnyCase) return metadataFrom(entries);
  // The cast is safe: only names change.
  const renamed = inSchemaCase(Object.fromEntries(entries), known) as Readonly<Record<string, string>>;
  return metadataFrom(Object.entries(renamed));
}
