import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { fieldsWithoutUndefined } from '../tools/optional-inputs.mjs';

test('every option of the public API takes undefined, also for programs with exactOptionalPropertyTypes', () => {
  expect(fieldsWithoutUndefined()).toEqual([]);
});

test('an option that does not is found wherever a program can pass it', () => {
  const found = fieldsWithoutUndefined([fileURLToPath(new URL('fixtures/optional-inputs.ts', import.meta.url))]);
  expect(found.map((one) => one.replace(/^Options\.| \(.*/g, '')).sort()).toEqual(
    ['lacking', 'lackingBelow', 'lackingInCallback', 'lackingInList', 'lackingInOverload'].sort(),
  );
});
