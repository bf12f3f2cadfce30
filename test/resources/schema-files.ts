import { MULTI_APP_SCHEMA } from '../../src/resources/multi-app-schema.ts';
import { published, resourcesSchema } from '../../src/resources/schema/kinds.ts';

/** The JSON Schemas of the package, and what they must hold. */
export const SCHEMA_FILES: readonly { readonly name: string; readonly url: URL; readonly text: string }[] = [
  fileOf('resources.schema.json', resourcesSchema()),
  fileOf('multi-app.schema.json', published('insidecar multi-app file', MULTI_APP_SCHEMA)),
];

function fileOf(name: string, schema: object): { name: string; url: URL; text: string } {
  const url = new URL(`../../schemas/${name}`, import.meta.url);
  return { name, url, text: `${JSON.stringify(schema, undefined, 2)}\n` };
}
