import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { APP_HEALTH_SCHEMA } from '../../src/app/health.ts';
import { ADDRESS_SCHEMA, NAME_RESOLUTION_SCHEMA } from '../../src/blocks/invocation/resolution/options.ts';
import { JOBS_OPTIONS_SCHEMA } from '../../src/blocks/jobs/options.ts';
import { PLACEMENT_SCHEMA } from '../../src/blocks/placement/options.ts';
import { WORKFLOWS_OPTIONS_SCHEMA } from '../../src/blocks/workflow/options.ts';
import { RESILIENCY_SCHEMA } from '../../src/resiliency/options.ts';
import { ACCESS_CONTROL_SCHEMA } from '../../src/security/access-options.ts';
import { API_SCHEMA } from '../../src/security/api-list.ts';
import { CORS_SCHEMA } from '../../src/security/cors.ts';
import { fastValidator } from '../../src/util/fast-validate.ts';

type Fields = Readonly<Record<string, unknown>>;

const PLAIN: Readonly<Record<string, object>> = {
  'app.health': APP_HEALTH_SCHEMA,
  address: ADDRESS_SCHEMA,
  jobs: JOBS_OPTIONS_SCHEMA,
  workflows: WORKFLOWS_OPTIONS_SCHEMA,
  resiliency: RESILIENCY_SCHEMA,
  accessControl: ACCESS_CONTROL_SCHEMA,
  api: API_SCHEMA,
  cors: CORS_SCHEMA,
  bounds: {
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
};

/** With words that are left to Ajv. */
const OTHER = { nameResolution: NAME_RESOLUTION_SCHEMA, placement: PLACEMENT_SCHEMA };

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
  const named = Object.entries(properties).map(([name, inner]) => [name, near(inner as Fields)] as const);
  const other = typeof additionalProperties === 'object' ? near(additionalProperties) : junk;
  const fields = fc
    .tuple(
      fc.record(Object.fromEntries(named), { requiredKeys: [] }),
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
    ...(Array.isArray(schema['enum']) ? [fc.constantFrom<unknown>(...schema['enum'])] : []),
  ];
  if (likely.length === 0) return junk;
  return fc.oneof({ weight: 12, arbitrary: fc.oneof(...likely) }, { weight: 1, arbitrary: junk });
}

function ajv(schema: object): (value: unknown) => boolean {
  return new Ajv({ strict: true, allowUnionTypes: true }).compile(schema) as (value: unknown) => boolean;
}

describe('fastValidator', () => {
  test.each(Object.entries(PLAIN))('says of the schema of %s what Ajv says', (_name, schema) => {
    const [fits, expected] = [fastValidator(schema), ajv(schema)];
    const seen = new Set<boolean>();
    fc.assert(
      fc.property(near(schema as Fields), (value) => {
        seen.add(expected(value));
        expect(fits(value)).toBe(expected(value));
      }),
      { numRuns: 500 },
    );
    expect(seen).toEqual(new Set([true, false]));
  });

  test.each(Object.entries(OTHER))('lets nothing through the schema of %s that Ajv refuses', (_name, schema) => {
    const [fits, expected] = [fastValidator(schema), ajv(schema)];
    fc.assert(
      fc.property(near(schema), (value) => {
        if (fits(value)) expect(expected(value)).toBe(true);
      }),
      { numRuns: 500 },
    );
    expect(fits({})).toBe(true);
  });

  test.each([{ const: 1 }, { type: 'array', uniqueItems: true }, { anyOf: [{}] }, false])(
    'leaves %j to Ajv',
    (schema) => expect(fastValidator(schema)([])).toBe(false),
  );
});
