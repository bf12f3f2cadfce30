import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { APP_HEALTH_SCHEMA } from '../../src/app/health.ts';
import { ADDRESS_SCHEMA, NAME_RESOLUTION_SCHEMA } from '../../src/blocks/invocation/resolution/options.ts';
import { JOBS_OPTIONS_SCHEMA } from '../../src/blocks/jobs/options.ts';
import { PLACEMENT_SCHEMA } from '../../src/blocks/placement/options.ts';
import { WORKFLOWS_OPTIONS_SCHEMA } from '../../src/blocks/workflow/options.ts';
import { RESILIENCY_SCHEMA } from '../../src/resiliency/options.ts';
import { OWN_WORDS } from '../../src/resources/schema/envelope.ts';
import { KIND_SCHEMAS } from '../../src/resources/schema/kinds.ts';
import { ACCESS_CONTROL_SCHEMA } from '../../src/security/access-options.ts';
import { API_SCHEMA } from '../../src/security/api-list.ts';
import { CORS_SCHEMA } from '../../src/security/cors.ts';
import { isDurationWithin } from '../../src/util/duration.ts';
import { fastValidator } from '../../src/util/fast-validate.ts';

type Fields = Readonly<Record<string, unknown>>;

const kind = (name: string, version = 'v1alpha1'): object => KIND_SCHEMAS.get(name)?.get(version) ?? {};

const resource = (name: string, spec: object): object => ({
  apiVersion: 'dapr.io/v1alpha1',
  kind: name,
  metadata: { name: 'one' },
  spec,
});

/** Each with a value that fits, since few of those that are made up do. */
const PLAIN: Readonly<Record<string, readonly [schema: object, fitting: unknown]>> = {
  Subscription: [
    kind('Subscription'),
    resource('Subscription', { pubsubname: 'p', topic: 't', route: '/a', deadLetterTopic: 'd' }),
  ],
  'Subscription v2alpha1': [
    kind('Subscription', 'v2alpha1'),
    {
      ...resource('Subscription', { pubsubname: 'p', topic: 't', routes: { rules: [], default: '/a' } }),
      apiVersion: 'dapr.io/v2alpha1',
    },
  ],
  Resiliency: [kind('Resiliency'), resource('Resiliency', { policies: { timeouts: { fast: '1s' } } })],
  'app.health': [APP_HEALTH_SCHEMA, {}],
  address: [ADDRESS_SCHEMA, 'http://a'],
  jobs: [JOBS_OPTIONS_SCHEMA, { concurrency: 1 }],
  workflows: [WORKFLOWS_OPTIONS_SCHEMA, { maxConcurrentActivities: 1 }],
  resiliency: [RESILIENCY_SCHEMA, {}],
  accessControl: [ACCESS_CONTROL_SCHEMA, { defaultAction: 'deny' }],
  api: [API_SCHEMA, { allowed: [{ name: 'publish', version: 'v1' }] }],
  cors: [CORS_SCHEMA, { origins: ['http://a'] }],
  bounds: [
    {
      type: 'array',
      minItems: 1,
      maxItems: 3,
      items: {
        type: ['string', 'null', 'number', 'integer', 'object'],
        minLength: 1,
        maxLength: 3,
        minimum: 0,
        maximum: 2,
        properties: { name: { type: 'string' } },
        required: ['name'],
      },
    },
    ['ab', null, { name: '' }],
  ],
};

/** With words that are left to Ajv, or of which few values fit; and one that does. */
const OTHER: Readonly<Record<string, readonly [schema: object, fitting: object]>> = {
  nameResolution: [NAME_RESOLUTION_SCHEMA, {}],
  placement: [PLACEMENT_SCHEMA, {}],
  Component: [kind('Component'), resource('Component', { type: 'pubsub.x', metadata: [{ name: 'a', value: 1 }] })],
  HTTPEndpoint: [kind('HTTPEndpoint'), resource('HTTPEndpoint', { baseUrl: 'http://a' })],
  Configuration: [kind('Configuration'), resource('Configuration', { api: { allowed: [] } })],
};

const TEXTS = [
  '',
  '1s',
  'a',
  'ab',
  'a.b',
  '/a',
  '😀😀',
  '😀😀😀😀',
  'http://a',
  'x'.repeat(300),
  'deny',
  'once',
  'http',
  'v1',
];
const NUMBERS = [-1, 0, 0.5, 1, 2, 70_000, Number.NaN, Number.POSITIVE_INFINITY];

const junk = fc.oneof(
  fc.constantFrom<unknown>(...TEXTS, ...NUMBERS, null, undefined, true, [], {}, Object.create({ inherited: 1 })),
  fc.constant(() => 1),
  fc.array(fc.constantFrom(...TEXTS), { maxLength: 4 }),
);

/** Values that look like what the schema asks for, and some that do not. */
function near(schema: Fields): fc.Arbitrary<unknown> {
  const { properties = {}, additionalProperties, items } = schema as Readonly<Record<string, Fields>>;
  const required = [schema['required'] ?? []].flat() as string[];
  const named = Object.entries(properties).map(([name, inner]) => [name, near(inner as Fields)] as const);
  const other = typeof additionalProperties === 'object' ? near(additionalProperties) : junk;
  const fields = fc
    .tuple(
      fc.oneof(...[required, []].map((requiredKeys) => fc.record(Object.fromEntries(named), { requiredKeys }))),
      fc.dictionary(fc.constantFrom('name', 'else', 'constructor'), other, { maxKeys: 1 }),
      fc.integer({ min: 0, max: 3 }),
    )
    .map(([known, more, chance]) => (chance === 0 || named.length === 0 ? { ...known, ...more } : known));
  const types = [schema['type']].flat();
  const likely: fc.Arbitrary<unknown>[] = [
    ...(types.includes('object') ? [fields] : []),
    ...(types.includes('array') && items !== undefined ? [fc.array(near(items), { maxLength: 4 })] : []),
    ...(types.includes('string') ? [fc.constantFrom(...TEXTS)] : []),
    ...(types.includes('number') || types.includes('integer') ? [fc.constantFrom(...NUMBERS)] : []),
    ...('isDuration' in schema ? [fc.constantFrom<unknown>('5s', '1h30m', 'P1D', '0s', '-1s', '5 s', ...NUMBERS)] : []),
    ...('const' in schema ? [fc.constant<unknown>(schema['const'])] : []),
    ...(Array.isArray(schema['enum']) ? [fc.constantFrom<unknown>(...schema['enum'])] : []),
  ];
  if (likely.length === 0) return junk;
  return fc.oneof({ weight: 12, arbitrary: fc.oneof(...likely) }, { weight: 1, arbitrary: junk });
}

function ajv(schema: object): (value: unknown) => boolean {
  const compiler = new Ajv({ strict: true, allowUnionTypes: true });
  for (const [keyword, schemaType] of Object.entries(OWN_WORDS)) compiler.addKeyword({ keyword, schemaType });
  compiler.addKeyword({
    keyword: 'isDuration',
    validate: ([minMs, maxMs]: [number, number], value: unknown) => isDurationWithin(value, minMs, maxMs),
  });
  return compiler.compile(schema) as (value: unknown) => boolean;
}

describe('fastValidator', () => {
  test.each(Object.entries(PLAIN))('says of the schema of %s what Ajv says', (_name, [schema, fitting]) => {
    const [fits, expected] = [fastValidator(schema), ajv(schema)];
    fc.assert(
      fc.property(near(schema as Fields), (value) => {
        expect(fits(value)).toBe(expected(value));
      }),
      { numRuns: 500, examples: [[fitting]] },
    );
    expect([expected(fitting), expected(() => 1)]).toEqual([true, false]);
  });

  test.each(Object.entries(OTHER))(
    'lets nothing through the schema of %s that Ajv refuses',
    (_name, [schema, fitting]) => {
      const [fits, expected] = [fastValidator(schema), ajv(schema)];
      fc.assert(
        fc.property(near(schema as Fields), (value) => {
          if (fits(value)) expect(expected(value)).toBe(true);
        }),
        { numRuns: 500 },
      );
      expect([fits(fitting), expected(fitting)]).toEqual([true, true]);
    },
  );

  test.each([{ const: 1 }, { type: 'array', uniqueItems: true }, { anyOf: [{}] }, false])(
    'leaves %j to Ajv',
    (schema) => expect(fastValidator(schema)([])).toBe(false),
  );
});
