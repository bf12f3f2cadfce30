import { describe, expect, test } from 'vitest';
import { isSidecarError } from '../../src/index.ts';
import { resolveOptions } from '../../src/sidecar/options.ts';

const TOKENS = [
  ['apiToken', 'SIDECAR_API_TOKEN'],
  ['appToken', 'APP_API_TOKEN'],
] as const;
const EXPECTED = 'expected visible ASCII characters, spaces only between them';

/** What no header can carry as it is. */
const UNSENDABLE = [
  'opensesame\n',
  'opensesame\r\n',
  ' opensesame',
  'opensesame ',
  'open\tsesame',
  'opensesame\0',
  'öffne-opensesame',
];

/** The message of what is thrown; it must be an error of the configuration. */
function problemOf(options: object, environment: NodeJS.ProcessEnv = {}): string | undefined {
  try {
    // The cast is what plain JavaScript does.
    resolveOptions({ appId: 'shop', ...options } as never, environment);
    return undefined;
  } catch (error) {
    expect(isSidecarError(error) && error.code).toBe('ERR_CONFIGURATION');
    return (error as Error).message;
  }
}

describe.each(TOKENS)('%s', (option, variable) => {
  test('that is empty is an error, also beside one in the environment: it would open the API', () => {
    expect(problemOf({ [option]: '' }, { [variable]: 'right' })).toBe(`options.${option} is empty: ${EXPECTED}`);
  });

  test.each(UNSENDABLE)('%j is an error that does not show it', (token) => {
    const problem = problemOf({ [option]: token });
    expect(problem).toBe(`options.${option} cannot be sent in a header: ${EXPECTED}`);
  });

  test.each(UNSENDABLE)('so is it in the environment: %j', (token) => {
    expect(problemOf({}, { [variable]: token })).toBe(
      `environment variable ${variable} cannot be sent in a header: ${EXPECTED}`,
    );
  });

  test.each([7_700_143, null, ['opensesame']])('that is no text is an error that does not show it: %j', (token) => {
    expect(problemOf({ [option]: token })).toBe(`options.${option} cannot be sent in a header: ${EXPECTED}`);
  });

  test('may have spaces within', () => {
    expect(resolveOptions({ appId: 'shop', [option]: 'open  sesame' }, {})[option]).toBe('open  sesame');
  });

  test('undefined stands for that of the environment, and nothing there for none', () => {
    expect(resolveOptions({ appId: 'shop', [option]: undefined }, { [variable]: 'right' })[option]).toBe('right');
    expect(resolveOptions({ appId: 'shop' }, { [variable]: '' })[option]).toBe('');
    expect(resolveOptions({ appId: 'shop' }, {})[option]).toBe('');
  });

  test('in the options goes before that of the environment, whatever that is', () => {
    expect(resolveOptions({ appId: 'shop', [option]: 'mine' }, { [variable]: 'a\n' })[option]).toBe('mine');
  });
});

test('the variable of the other wire has no effect', () => {
  const environment = { SIDECAR_API_TOKEN: 'a', DAPR_API_TOKEN: 'b' };
  expect(resolveOptions({ appId: 'shop', wire: 'dapr' }, environment).apiToken).toBe('b');
  expect(problemOf({ wire: 'dapr' }, { DAPR_API_TOKEN: 'b\n' })).toContain('environment variable DAPR_API_TOKEN');
});
