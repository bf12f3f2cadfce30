import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkPath, cleanedPath } from '../../src/blocks/invocation/method-path.ts';
import { isSidecarError } from '../../src/errors.ts';
import { type AccessControl, makeAccessControl } from '../../src/security/access-control.ts';
import type { AccessAction, AccessControlOptions, AccessOperation } from '../../src/security/access-options.ts';
import { daprDecision } from '../support/dapr-access-model.ts';
import { type CALLER, check, dapr, policy, type Rule } from './access-rules.ts';

const segment = fc.constantFrom('a', 'b', 'A', 'ab', 'i', 'σοσ', '*', 'a*', '*b');
const anyRule: fc.Arbitrary<Rule> = fc
  .tuple(
    fc.array(segment, { maxLength: 3 }),
    fc.boolean(),
    fc.constantFrom<AccessAction>('allow', 'deny'),
    fc.uniqueArray(fc.constantFrom('*', 'GET', 'POST', 'HEAD'), { minLength: 1, maxLength: 2 }),
  )
  .map(([segments, rest, action, verbs]): Rule => {
    // An allow with a lone star in its middle is refused.
    const last = segments.length - 1 + Number(rest);
    const own = segments.map((one, at) => (one === '*' && action === 'allow' && at < last ? 'a*' : one));
    return [`/${[...own, ...(rest ? ['**'] : [])].join('/')}`, action, ...verbs];
  });
const anyRules = fc.array(anyRule, { maxLength: 6 });
const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'A', 'ab', 'c'), { maxLength: 4 })
  .map((parts) => `/${parts.join('/')}`);
const anyDefault = fc.constantFrom<AccessAction>('allow', 'deny');
const anyVerb = fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'PROPFIND', 'get');

describe('properties', () => {
  test('nothing is allowed by default-deny that no allow names', () => {
    fc.assert(
      fc.property(anyRules, anyPath, (rules, path) => {
        const denies = rules.filter(([, action]) => action === 'deny');
        expect(check(policy('deny', denies), path)).toBe('deny');
      }),
    );
  });

  test('a path is allowed in another case only when it is so in small letters', () => {
    fc.assert(
      fc.property(anyDefault, anyRules, anyPath, (byDefault, rules, path) => {
        const lower = rules.map(([name, ...rest]): Rule => [name.toLowerCase(), ...rest]);
        if (check(policy(byDefault, rules), path) === 'allow')
          expect(check(policy(byDefault, lower), path.toLowerCase())).toBe('allow');
      }),
      { numRuns: 1_000 },
    );
  });

  test('slashes that are doubled or trail change nothing', () => {
    fc.assert(
      fc.property(anyDefault, anyRules, anyPath, fc.integer({ min: 1, max: 3 }), (byDefault, rules, path, times) => {
        const control = policy(byDefault, rules);
        expect(check(control, `${path.replaceAll('/', '/'.repeat(times))}/`)).toBe(check(control, path));
      }),
    );
  });

  test('a way round through dot segments or escapes is never open where the straight way is not', () => {
    const detour = fc.constantFrom('/x/../', '/./', '/%2e%2e/', '%2f', '\\', '/..;/', '%5c..%5c', '/x%2f..%2f');
    const control = policy('deny', [['/public/**', 'allow']]);
    fc.assert(
      fc.property(fc.array(detour, { minLength: 1, maxLength: 4 }), (detours) => {
        expect(check(control, `/public${detours.join('')}admin`)).toBe('deny');
      }),
    );
  });
});

/** Names of operations as people write them, with their slips. */
const anyName = fc
  .tuple(fc.constantFrom('/', '', '//'), fc.array(segment, { maxLength: 3 }), fc.constantFrom('', '/', '/**', '/*'))
  .map(([start, segments, end]) => `${start}${segments.join('/')}${end}` || '/');
const anyOperation: fc.Arbitrary<AccessOperation> = fc.record({
  name: fc.oneof({ weight: 3, arbitrary: anyRule.map(([name]) => name) }, { weight: 1, arbitrary: anyName }),
  httpVerb: fc.uniqueArray(fc.constantFrom('*', 'GET', 'POST', 'HEAD', 'DELETE'), { minLength: 1, maxLength: 3 }),
  action: fc.constantFrom<AccessAction>('allow', 'deny'),
});
const anyCaller = fc.record({
  appId: fc.constantFrom('caller', 'Caller', 'other'),
  namespace: fc.constantFrom('default', 'other'),
  trustDomain: fc.constantFrom('public', 'other'),
});
const maybeDefault = fc.record({ defaultAction: anyDefault }, { requiredKeys: [] });
const anyPolicy = fc
  .tuple(anyCaller, maybeDefault, fc.array(anyOperation, { maxLength: 5 }))
  .map(([caller, byDefault, list]) => ({ ...caller, ...byDefault, operations: list }));
const anyOptions: fc.Arbitrary<AccessControlOptions> = fc
  .tuple(maybeDefault, fc.array(anyPolicy, { minLength: 1, maxLength: 3 }))
  .map(([byDefault, policies]) => ({ ...byDefault, policies }));

/** A path as it stands in a request: encoded in part or whole, twice here and there, with slashes and dots too many. */
const encoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const rawSegment = fc
  .tuple(
    fc.constantFrom(
      'a',
      'b',
      'A',
      'ab',
      'aB',
      'axb',
      'c',
      'İ',
      'ΣΟΣ',
      '',
      '*',
      'a*',
      '.',
      '..',
      'é',
      'a b',
      'a;v=1',
      '%',
    ),
    fc.constantFrom(encodeURIComponent, encoded, (text: string) => encodeURIComponent(encoded(text))),
  )
  .map(([text, write]) => (text === '.' || text === '..' ? text : write(text)));
const rawPath = fc
  .tuple(fc.array(rawSegment, { maxLength: 5 }), fc.constantFrom('/', '%2f'), fc.constantFrom('', '/', '//'))
  .map(([segments, between, end]) => `/${segments.join(between)}${end}`);

/** As a call arrives at {@link Peers}: checked and cleaned before it is decided upon. */
function decideOnRaw(control: AccessControl, caller: typeof CALLER, verb: string, path: string): AccessAction {
  try {
    checkPath(path);
  } catch {
    return 'deny';
  }
  return control.check({ caller, verb, path: cleanedPath(path), rawPath: path });
}

describe('policies that were written for Dapr', () => {
  test('no path, verb and policy is denied there and allowed here', () => {
    let allowed = 0;
    let refused = 0;
    fc.assert(
      fc.property(anyOptions, anyCaller, anyVerb, rawPath, fc.boolean(), (options, caller, verb, path, isGrpc) => {
        let control: AccessControl;
        try {
          control = makeAccessControl(options, { isGrpc });
        } catch (error) {
          // What Dapr would leave out of account is refused at the start.
          expect(isSidecarError(error)).toBe(true);
          refused++;
          return;
        }
        if (decideOnRaw(control, caller, verb, path) === 'deny') return;
        allowed++;
        expect(daprDecision(options, { caller, verb, path }, isGrpc)).toBe('allow');
      }),
      { numRuns: 10_000 },
    );
    expect(allowed, 'calls that were allowed').toBeGreaterThan(250);
    expect(refused, 'policies that were refused').toBeLessThan(7_500);
  });

  test('no call of the one caller of a policy is denied there and allowed here', () => {
    let allowed = 0;
    fc.assert(
      fc.property(anyDefault, anyRules, anyVerb, anyPath, (byDefault, rules, verb, path) => {
        if (check(policy(byDefault, rules), path, verb) === 'deny') return;
        allowed++;
        expect(dapr(byDefault, rules, path, verb)).toBe('allow');
      }),
      { numRuns: 10_000 },
    );
    expect(allowed, 'calls that were allowed').toBeGreaterThan(1_000);
  });

  test('what a list of allowed paths names and Dapr allows is allowed here, in its own case', () => {
    fc.assert(
      fc.property(anyRules, anyPath, (rules, path) => {
        const allows = rules.map(
          ([name, , ...verbs]): Rule => [name.replaceAll(/\*(?=\/)/g, 'a*').replaceAll('aa*', 'a*'), 'allow', ...verbs],
        );
        const isNamed = allows.some((rule) => check(policy('deny', [rule]), path) === 'allow');
        fc.pre(isNamed && dapr('deny', allows, path) === 'allow');
        expect(check(policy('deny', allows), path)).toBe('allow');
      }),
      { numRuns: 1_000 },
    );
  });
});
