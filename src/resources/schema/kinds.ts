import { COMPONENT_SCHEMA } from './component.ts';
import { CONFIGURATION_SCHEMA } from './configuration.ts';
import { OWN_WORDS } from './envelope.ts';
import { HTTP_ENDPOINT_SCHEMA } from './http-endpoint.ts';
import { RESILIENCY_SCHEMA } from './resiliency.ts';
import { SUBSCRIPTION_V1_SCHEMA, SUBSCRIPTION_V2_SCHEMA } from './subscription.ts';

/** The schemas by kind and version. */
export const KIND_SCHEMAS: ReadonlyMap<string, ReadonlyMap<string, object>> = new Map([
  ['Component', new Map([['v1alpha1', COMPONENT_SCHEMA]])],
  [
    'Subscription',
    new Map([
      ['v1alpha1', SUBSCRIPTION_V1_SCHEMA],
      ['v2alpha1', SUBSCRIPTION_V2_SCHEMA],
    ]),
  ],
  ['HTTPEndpoint', new Map([['v1alpha1', HTTP_ENDPOINT_SCHEMA]])],
  ['Configuration', new Map([['v1alpha1', CONFIGURATION_SCHEMA]])],
  ['Resiliency', new Map([['v1alpha1', RESILIENCY_SCHEMA]])],
]);

/** One schema of all kinds and versions, for editors. */
export function resourcesSchema(): object {
  const schemas = [...KIND_SCHEMAS.values()].flatMap((versions) => [...versions.values()]);
  return published('insidecar resource: a resource file in the form of Dapr, as insidecar reads it', {
    oneOf: schemas,
  });
}

/** A schema in its published form. */
export function published(title: string, schema: object): object {
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, ...Object(plain(schema)) };
}

/** Removes our own keywords: editors would reject them. */
function plain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plain);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([word]) => !Object.hasOwn(OWN_WORDS, word));
  return Object.fromEntries(entries.map(([word, value]) => [word, plain(value)]));
}
