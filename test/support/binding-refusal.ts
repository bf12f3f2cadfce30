import { expect } from 'vitest';
import type { Answer } from './http.ts';

export const FAILED = 'ERR_INVOKE_OUTPUT_BINDING';

/** What no answer may have: addresses, logins, statements, paths of the machine, stacks. */
const PRIVATE = /127\.0\.0\.1|hidden|selec?t|insidecar-refusals|\/tmp|\bat \S+:\d+/i;

interface Refusal {
  readonly errorCode: string;
  readonly message: string;
}

/** Status, code and message of a refusal, which has nothing else, and nothing private. */
export function refusalOf({ status, text, headers }: Answer): readonly [number, string, string] {
  expect(headers['content-type']).toBe('application/json');
  expect(text).not.toMatch(PRIVATE);
  const { errorCode, message, ...more } = JSON.parse(text) as Refusal;
  expect(more).toEqual({});
  return [status, errorCode, message];
}
