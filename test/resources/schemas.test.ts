import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { component } from './files.ts';
import { SCHEMA_FILES } from './schema-files.ts';

describe.each(SCHEMA_FILES)('schemas/$name', ({ url, text }) => {
  test('is up to date: `npm run schemas` writes it', async () => {
    expect(await readFile(url, 'utf8')).toBe(text);
  });

  test('is a JSON Schema that needs no word of ours', async () => {
    expect(() => new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(text))).not.toThrow();
  });
});

describe('schemas/resources.schema.json', () => {
  const fits = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(SCHEMA_FILES[0]?.text ?? ''));

  test('takes a component', () => {
    expect(fits(parse(component('events', 'pubsub.in-memory')))).toBe(true);
  });

  test('refuses a field that there is not', () => {
    expect(fits(parse(component('events', 'pubsub.in-memory', '  nope: 1')))).toBe(false);
  });
});
