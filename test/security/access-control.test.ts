import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSidecarError } from '../../src/errors.ts';
import { type AccessControl, makeAccessControl } from '../../src/security/access-control.ts';
import type { AccessAction, AccessControlOptions, AccessOperation } from '../../src/security/access-options.ts';

const CALLER = { appId: 'caller', namespace: 'default', trustDomain: 'public' };

type Rule = readonly [name: string, action: AccessAction, ...verbs: string[]];

function operations(rules: readonly Rule[]): AccessOperation[] {
  return rules.map(([name, action, ...verbs]) => ({ name, action, httpVerb: verbs.length === 0 ? ['*'] : verbs }));
}

/** One policy for one caller; the default of all is the other way round, so that it shows when it is used. */
function policy(defaultAction: AccessAction, rules: readonly Rule[]): AccessControl {
  return makeAccessControl({
    defaultAction: defaultAction === 'allow' ? 'deny' : 'allow',
    policies: [{ ...CALLER, defaultAction, operations: operations(rules) }],
  });
}

const check = (control: AccessControl, path: string, verb = 'GET'): AccessAction =>
  control.check({ caller: CALLER, verb, path });

const PLAIN = 'an allowed plain operation is one path, not a prefix';
const DENY_WIDE = 'a deny covers what lies below, also past one segment';
const STAR = '* is exactly one segment';
const MIDDLE = '* is one segment in the middle too';
const CASE = 'an allow holds in its own case only';
const SPECIFIC = 'the most specific rule wins, whatever the order';
const MERGED = 'verbs of one operation given twice are merged';
const VERB_CASE = 'verbs are compared without regard to case';

type Expected = 'allow' | 'deny';
type Row = readonly [
  defaultAction: AccessAction,
  rules: readonly Rule[],
  path: string,
  dapr: Expected,
  ours: Expected,
  why?: string,
];

/** Every row of the executed table: [policy default, operations, "[verb] path", Dapr's answer, ours, why not the same]. */
const ROWS: readonly Row[] = [
  ['deny', [['/public', 'allow']], 'public', 'allow', 'allow'],
  ['deny', [['/public', 'allow']], 'public/', 'allow', 'allow'],
  ['deny', [['/public', 'allow']], 'PUBLIC', 'allow', 'deny', CASE],
  ['deny', [['/public', 'allow']], 'public/extra', 'allow', 'deny', PLAIN],
  ['deny', [['/public', 'allow']], 'publicx', 'deny', 'deny'],
  ['deny', [['/public', 'allow']], '', 'deny', 'deny'],
  ['deny', [['/op/*', 'allow', 'GET']], 'op', 'allow', 'deny', STAR],
  ['deny', [['/op/*', 'allow', 'GET']], 'op/', 'allow', 'deny', STAR],
  ['deny', [['/op/*', 'allow', 'GET']], 'op/a', 'allow', 'allow'],
  ['deny', [['/op/*', 'allow', 'GET']], 'POST op/a', 'deny', 'deny'],
  ['deny', [['/op/*', 'allow', 'GET']], 'op/a/b', 'deny', 'deny'],
  ['deny', [['/op/*', 'allow', 'GET']], 'opx/a', 'deny', 'deny'],
  ['deny', [['/op/**', 'allow']], 'op', 'allow', 'allow'],
  ['deny', [['/op/**', 'allow']], 'op/', 'allow', 'allow'],
  ['deny', [['/op/**', 'allow']], 'op/a', 'allow', 'allow'],
  ['deny', [['/op/**', 'allow']], 'op/a/b/c', 'allow', 'allow'],
  ['deny', [['/a/*/c', 'allow']], 'a/b/c', 'deny', 'allow', MIDDLE],
  ['deny', [['/a/*/c', 'allow']], 'a/*/c', 'allow', 'allow'],
  ['deny', [['/a*c', 'allow']], 'abc', 'allow', 'allow'],
  ['deny', [['/a*c', 'allow']], 'ac', 'allow', 'allow'],
  ['deny', [['/a*c', 'allow']], 'abc/d', 'allow', 'deny', PLAIN],
  ['deny', [['/a*c', 'allow']], 'abd', 'deny', 'deny'],
  [
    'allow',
    [
      ['/*', 'deny'],
      ['/ok', 'allow'],
    ],
    'ok',
    'deny',
    'allow',
    SPECIFIC,
  ],
  [
    'allow',
    [
      ['/*', 'deny'],
      ['/ok', 'allow'],
    ],
    'x',
    'deny',
    'deny',
  ],
  [
    'allow',
    [
      ['/*', 'deny'],
      ['/ok', 'allow'],
    ],
    'x/y',
    'allow',
    'deny',
    DENY_WIDE,
  ],
  [
    'allow',
    [
      ['/*', 'deny'],
      ['/ok', 'allow'],
    ],
    'ok/y',
    'allow',
    'deny',
    DENY_WIDE,
  ],
  [
    'allow',
    [
      ['/*', 'deny'],
      ['/ok', 'allow'],
    ],
    '',
    'deny',
    'deny',
  ],
  [
    'allow',
    [
      ['/ok', 'allow'],
      ['/*', 'deny'],
    ],
    'ok',
    'allow',
    'allow',
  ],
  [
    'allow',
    [
      ['/ok', 'allow'],
      ['/*', 'deny'],
    ],
    'x',
    'deny',
    'deny',
  ],
  [
    'allow',
    [
      ['/ok', 'allow'],
      ['/*', 'deny'],
    ],
    'x/y',
    'allow',
    'deny',
    DENY_WIDE,
  ],
  [
    'allow',
    [
      ['/ok', 'allow'],
      ['/*', 'deny'],
    ],
    '',
    'deny',
    'deny',
  ],
  [
    'deny',
    [
      ['/a/**', 'allow'],
      ['/a/b', 'deny'],
    ],
    'a/b',
    'allow',
    'deny',
    SPECIFIC,
  ],
  [
    'deny',
    [
      ['/a/**', 'allow'],
      ['/a/b', 'deny'],
    ],
    'a/x',
    'allow',
    'allow',
  ],
  [
    'deny',
    [
      ['/a/b', 'deny'],
      ['/a/**', 'allow'],
    ],
    'a/b',
    'deny',
    'deny',
  ],
  [
    'deny',
    [
      ['/a/b', 'deny'],
      ['/a/**', 'allow'],
    ],
    'a/b/c',
    'deny',
    'deny',
  ],
  [
    'deny',
    [
      ['/a/b', 'deny'],
      ['/a/**', 'allow'],
    ],
    'a/x/y',
    'allow',
    'allow',
  ],
  [
    'deny',
    [
      ['/op', 'deny', 'GET'],
      ['/op/x', 'allow', 'GET'],
    ],
    'op/x',
    'deny',
    'allow',
    SPECIFIC,
  ],
  [
    'deny',
    [
      ['/op/x', 'allow', 'GET'],
      ['/op', 'deny', 'GET'],
    ],
    'op/x',
    'deny',
    'allow',
    SPECIFIC,
  ],
  [
    'deny',
    [
      ['/a/b/*', 'allow'],
      ['/a/b/c/d', 'allow'],
    ],
    'a/b',
    'allow',
    'deny',
    STAR,
  ],
  [
    'deny',
    [
      ['/a/b/*', 'allow'],
      ['/a/b/c/d', 'allow'],
    ],
    'a/b/c',
    'allow',
    'allow',
  ],
  [
    'deny',
    [
      ['/a/b/*', 'allow'],
      ['/a/b/c/d', 'allow'],
    ],
    'a/b/c/d',
    'allow',
    'allow',
  ],
  [
    'deny',
    [
      ['/a/b/*', 'allow'],
      ['/a/b/c/d', 'allow'],
    ],
    'a/b/x/d',
    'deny',
    'deny',
  ],
  ['deny', [['*', 'allow']], '', 'allow', 'deny', STAR],
  ['deny', [['*', 'allow']], 'a', 'allow', 'allow'],
  ['deny', [['*', 'allow']], 'a/b', 'deny', 'deny'],
  ['deny', [['/**', 'allow']], '', 'allow', 'allow'],
  ['deny', [['/**', 'allow']], 'a', 'allow', 'allow'],
  ['deny', [['/**', 'allow']], 'a/b', 'allow', 'allow'],
  [
    'deny',
    [
      ['/op', 'allow', 'GET', 'POST'],
      ['/op', 'allow', 'DELETE'],
    ],
    'op',
    'allow',
    'allow',
  ],
  [
    'deny',
    [
      ['/op', 'allow', 'GET', 'POST'],
      ['/op', 'allow', 'DELETE'],
    ],
    'DELETE op',
    'deny',
    'allow',
    MERGED,
  ],
  ['deny', [['/op', 'allow', 'get']], 'op', 'deny', 'allow', VERB_CASE],
];

const shown = (rules: readonly Rule[]): string => rules.map((rule) => rule.join(' ')).join(', ');

/** Dapr's algorithm as the reference tells it, to check the column of the table and to compare with on random rules. */
function dapr(defaultAction: AccessAction, rules: readonly Rule[], path: string, verb = 'GET'): Expected {
  interface Node {
    readonly text: string;
    readonly children: Node[];
    verbs?: Map<string, AccessAction>;
  }
  const partsOf = (text: string): string[] =>
    text
      .toLowerCase()
      .replace(/^\//, '')
      .split('/')
      .map((part) => `/${part}`);
  const root: Node = { text: '', children: [] };
  for (const [name, action, ...verbs] of rules) {
    let at = root;
    for (const text of partsOf(name)) {
      let child = at.children.find((one) => one.text === text);
      if (child === undefined) {
        child = { text, children: [] };
        at.children.push(child);
      }
      at = child;
    }
    at.verbs ??= new Map((verbs.length === 0 ? ['*'] : verbs).map((one) => [one, action]));
  }
  const glob = (pattern: string, text: string): boolean =>
    new RegExp(`^${pattern.replace(/[.+?^$()[\]{}|\\]/g, '\\$&').replaceAll('*', '.*')}$`).test(text);
  const find = (at: Node, parts: readonly string[]): Node | undefined => {
    const [part, ...more] = parts;
    const child = at.children.find(({ text }) => {
      if (part === undefined) return false;
      if (text === part || text === '/**') return true;
      return text === '/*' ? more.length === 0 : text.includes('*') && glob(text, part);
    });
    if (child === undefined) return undefined;
    if (child.verbs !== undefined) return child;
    if (more.length > 0) return find(child, more);
    return child.children.find(({ text }) => text === '/*' || text === '/**');
  };
  const parts = partsOf(path);
  const verbs = find(root, parts.length > 1 && parts.at(-1) === '/' ? parts.slice(0, -1) : parts)?.verbs;
  return verbs?.get(verb) ?? verbs?.get('*') ?? defaultAction;
}

describe('access control and the table of Dapr', () => {
  test.each(ROWS.map((row) => [shown(row[1]), row[2], row] as const))('%s: %s', (_rules, call, row) => {
    const [defaultAction, rules, , expectedOfDapr, ours, why] = row;
    const [path = '', verb = 'GET'] = call.split(' ').reverse();
    expect(check(policy(defaultAction, rules), path, verb)).toBe(ours);
    expect(dapr(defaultAction, rules, path, verb), 'what the reference tells of Dapr').toBe(expectedOfDapr);
    expect(why !== undefined, 'a reason stands exactly where ours is not that of Dapr').toBe(ours !== expectedOfDapr);
  });

  test('an operation without verbs never matches there; here it is refused', () => {
    const operation = { name: '/op', action: 'allow' } as unknown as AccessOperation;
    expect(() => makeAccessControl({ policies: [{ ...CALLER, operations: [operation] }] })).toThrow(
      'options.accessControl.policies.0.operations.0.httpVerb is missing',
    );
  });
});

describe('who a policy is for', () => {
  const control = makeAccessControl({
    defaultAction: 'deny',
    policies: [{ ...CALLER, defaultAction: 'allow' }],
  });
  test.each([
    ['the caller itself', CALLER, 'allow'],
    ['nobody proved', undefined, 'deny'],
    ['another application', { ...CALLER, appId: 'other' }, 'deny'],
    ['the same name in another namespace', { ...CALLER, namespace: 'other' }, 'deny'],
    ['the same name in another trust domain', { ...CALLER, trustDomain: 'other' }, 'deny'],
    ['another case', { ...CALLER, appId: 'Caller' }, 'deny'],
    ['a prototype key', { ...CALLER, appId: '__proto__' }, 'deny'],
    ['a name that joins to the same text', { appId: 'caller', namespace: 'x', trustDomain: 'public/default' }, 'deny'],
  ] as const)('%s', (_, caller, expected) => {
    expect(control.check({ caller, verb: 'GET', path: '/x' })).toBe(expected);
  });

  test('without a default, who has no policy is denied', () => {
    expect(check(makeAccessControl({}), '/x')).toBe('deny');
    expect(makeAccessControl({}).check({ caller: undefined, verb: 'GET', path: '/x' })).toBe('deny');
  });

  test('a policy without a default takes that of all', () => {
    expect(check(makeAccessControl({ defaultAction: 'allow', policies: [CALLER] }), '/x')).toBe('allow');
    expect(check(makeAccessControl({ policies: [CALLER] }), '/x')).toBe('deny');
  });
});

describe('rules', () => {
  test.each<[what: string, defaultAction: AccessAction, rules: readonly Rule[], call: string, expected: Expected]>([
    [
      'a verb by name goes before *',
      'allow',
      [
        ['/op', 'deny'],
        ['/op', 'allow', 'GET'],
      ],
      'GET op',
      'allow',
    ],
    [
      'a verb by name goes before *',
      'deny',
      [
        ['/op', 'allow'],
        ['/op', 'deny', 'DELETE'],
      ],
      'DELETE op',
      'deny',
    ],
    [
      'deny wins over the same allow',
      'allow',
      [
        ['/op', 'allow'],
        ['/op', 'deny'],
      ],
      'op',
      'deny',
    ],
    [
      'another verb falls to the next rule',
      'allow',
      [
        ['/a/b', 'allow', 'GET'],
        ['/a/**', 'deny'],
      ],
      'POST a/b',
      'deny',
    ],
    ['a denied GET denies HEAD', 'allow', [['/op', 'deny', 'GET']], 'HEAD op', 'deny'],
    ['an allowed GET does not allow HEAD', 'deny', [['/op', 'allow', 'GET']], 'HEAD op', 'deny'],
    [
      'HEAD can be allowed by name',
      'allow',
      [
        ['/op', 'deny', 'GET'],
        ['/op', 'allow', 'HEAD'],
      ],
      'HEAD op',
      'allow',
    ],
    ['a request verb in small letters', 'deny', [['/op', 'allow', 'GET']], 'get op', 'allow'],
    ['a verb of no rule', 'deny', [['/op', 'allow']], 'PROPFIND op', 'allow'],
    ['a deny holds in any case', 'allow', [['/admin', 'deny']], '/ADMIN/Users', 'deny'],
    ['a deny in capitals holds in small letters', 'allow', [['/Admin', 'deny']], '/admin', 'deny'],
    ['an allow in capitals', 'deny', [['/Admin', 'allow']], '/Admin', 'allow'],
    ['an allow in another case than asked', 'deny', [['/Admin', 'allow']], '/admin', 'deny'],
    ['a deny holds with path parameters', 'allow', [['/admin', 'deny']], '/Admin;a=1/users;b', 'deny'],
    ['an allow with path parameters is its own', 'deny', [['/a;v=1', 'allow']], '/a;v=1', 'allow'],
    ['an allow does not hold with path parameters', 'deny', [['/a', 'allow']], '/a;v=1', 'deny'],
    ['a plain deny covers what is below', 'allow', [['/admin', 'deny']], '/admin/users/1', 'deny'],
    [
      'a more specific allow below it',
      'allow',
      [
        ['/admin', 'deny'],
        ['/admin/health', 'allow'],
      ],
      '/admin/health',
      'allow',
    ],
    [
      'an explicit ** beside a plain deny',
      'deny',
      [
        ['/a', 'deny'],
        ['/a/**', 'allow'],
      ],
      '/a/b',
      'allow',
    ],
    [
      'more fixed text is more specific',
      'deny',
      [
        ['/a*', 'deny'],
        ['/ab*', 'allow'],
      ],
      '/abc',
      'allow',
    ],
    [
      'equal globs: deny wins',
      'allow',
      [
        ['/a*', 'allow'],
        ['/*c', 'deny'],
      ],
      '/abc',
      'deny',
    ],
    [
      'from left to right',
      'deny',
      [
        ['/a/*/c', 'allow'],
        ['/*/b/c', 'deny'],
      ],
      '/a/b/c',
      'allow',
    ],
    ['several stars in a segment', 'deny', [['/a*b*c', 'allow']], '/aXbYc', 'allow'],
    ['several stars in a segment, in another order', 'deny', [['/a*b*c', 'allow']], '/aXcYb', 'deny'],
    ['stars that would have to overlap', 'deny', [['/aba*aba', 'allow']], '/ababa', 'deny'],
    ['middle and end that would have to overlap', 'deny', [['/a*bc*cd', 'allow']], '/axbcd', 'deny'],
    ['doubled slashes', 'deny', [['//a//b/', 'allow']], '///a//b//', 'allow'],
    ['a prototype key as a path', 'deny', [['/a', 'allow']], '/__proto__/constructor', 'deny'],
    ['a prototype key as a rule', 'deny', [['/__proto__', 'allow']], '/__proto__', 'allow'],
  ])('%s', (_what, defaultAction, rules, call, expected) => {
    const [path = '', verb = 'GET'] = call.split(' ').reverse();
    expect(check(policy(defaultAction, rules), path, verb)).toBe(expected);
    expect(check(policy(defaultAction, rules.toReversed()), path, verb), 'in the other order').toBe(expected);
  });
});

describe('paths that an application could read in another way are denied, whatever the rules', () => {
  const open = makeAccessControl({
    defaultAction: 'allow',
    policies: [{ ...CALLER, defaultAction: 'allow', operations: operations([['/**', 'allow']]) }],
  });
  test.each([
    '/public/../admin',
    '..',
    '/a/./b',
    '/a/..;x=1/admin',
    '/a/.;/b',
    '/public\\..\\admin',
    '/a%2fb',
    '/a%2e%2e/b',
    '/a%252e',
    '/a%5cb',
    '/a%00',
    '/a\u0000b',
    '/a\r\nb',
    '/a?b',
    '/a#b',
  ])('%j', (path) => {
    expect(check(open, path)).toBe('deny');
    expect(open.check({ caller: undefined, verb: 'GET', path })).toBe('deny');
  });

  test.each(['/a b', '/100%', '/50%25x'.replace('%25', '%'), '/é', '/a..b', '/...', '/a;b=..', '/.well-known'])(
    'but not %j',
    (path) => {
      expect(check(open, path)).toBe('allow');
    },
  );
});

describe('a path that the application gets as it came', () => {
  const control = policy('deny', [['/public/**', 'allow']]);
  const raw = (path: string, rawPath: string): AccessAction =>
    control.check({ caller: CALLER, verb: 'GET', path, rawPath });
  test.each<[path: string, rawPath: string, expected: Expected]>([
    ['/public/admin', '//public/admin', 'deny'],
    ['/public/admin', '/public%2Fadmin', 'deny'],
    ['/public/admin', '/public/admin', 'allow'],
    ['/public/a b', '/public//a%20b/', 'allow'],
    ['/public/a', '/public/./a', 'deny'],
    ['/public/a', '/%2E/public/a', 'deny'],
    ['/public/a', '/public/a/.', 'deny'],
    ['/public/.a', '/public/.a', 'allow'],
  ])('%s as %s', (path, rawPath, expected) => {
    expect(raw(path, rawPath)).toBe(expected);
  });
});

describe('policies that cannot be meant are refused when they are read', () => {
  const withOperation = (operation: object): AccessControlOptions =>
    ({
      policies: [{ ...CALLER, operations: [{ name: '/a', httpVerb: ['*'], action: 'allow', ...operation }] }],
    }) as unknown as AccessControlOptions;
  test.each<[options: unknown, message: string]>([
    [{ defaultAction: 'permit' }, 'options.accessControl.defaultAction must match pattern'],
    [{ policies: [{ appId: 'a', trustDomain: 'public' }] }, 'policies.0.namespace is missing'],
    [{ policies: [{ appId: 'a', namespace: 'default' }] }, 'policies.0.trustDomain is missing'],
    [{ policies: [{ namespace: 'default', trustDomain: 'public' }] }, 'policies.0.appId is missing'],
    [{ policies: [{ ...CALLER, appID: 'a' }] }, 'unknown field "appID"'],
    [{ policies: [CALLER, CALLER] }, 'policies.1 is a second policy for caller in namespace default'],
    [withOperation({ httpVerb: [] }), 'httpVerb must NOT have fewer than 1 items'],
    [withOperation({ httpVerb: ['GTE'] }), 'operations.0.httpVerb has "GTE": expected HTTP methods or "*"'],
    [withOperation({ action: 'yes' }), 'operations.0.action must match pattern'],
    [withOperation({ name: '' }), 'operations.0.name must NOT have fewer than 1 characters'],
    [withOperation({ name: '/a/../b' }), 'can match nothing'],
    [withOperation({ name: '/a%20b' }), 'can match nothing'],
    [withOperation({ name: '/a?b=1' }), 'can match nothing'],
    [withOperation({ name: '/a/**/b' }), 'has ** in its middle'],
    [withOperation({ name: '/a**' }), 'has ** in its middle'],
    [withOperation({ name: '/a'.repeat(65) }), 'at most 64 segments'],
  ])('%j', (options, message) => {
    let thrown: unknown;
    try {
      makeAccessControl(options as AccessControlOptions);
    } catch (error) {
      thrown = error;
    }
    expect(isSidecarError(thrown) && thrown.code).toBe('ERR_CONFIGURATION');
    expect((thrown as Error).message).toContain(message);
  });

  test('actions and verbs in any case are understood', () => {
    const control = makeAccessControl({
      defaultAction: 'DENY' as AccessAction,
      policies: [{ ...CALLER, operations: [{ name: 'a', httpVerb: ['post'], action: 'Allow' as AccessAction }] }],
    });
    expect([check(control, '/a', 'POST'), check(control, '/a', 'GET')]).toEqual(['allow', 'deny']);
  });
});

const segment = fc.constantFrom('a', 'b', 'A', 'ab', '*', 'a*', '*b');
const anyRule: fc.Arbitrary<Rule> = fc
  .tuple(
    fc.array(segment, { maxLength: 3 }),
    fc.boolean(),
    fc.constantFrom<AccessAction>('allow', 'deny'),
    fc.constantFrom('*', 'GET', 'POST'),
  )
  .map(([segments, rest, action, verb]) => [`/${[...segments, ...(rest ? ['**'] : [])].join('/')}`, action, verb]);
const anyRules = fc.array(anyRule, { maxLength: 6 });
const anyPath = fc
  .array(fc.constantFrom('a', 'b', 'A', 'ab', 'c'), { maxLength: 4 })
  .map((parts) => `/${parts.join('/')}`);
const anyDefault = fc.constantFrom<AccessAction>('allow', 'deny');

describe('properties', () => {
  test('the order of rules does not matter', () => {
    fc.assert(
      fc.property(
        anyDefault,
        anyRules.chain((rules) =>
          fc.tuple(fc.constant(rules), fc.shuffledSubarray(rules, { minLength: rules.length })),
        ),
        anyPath,
        (byDefault, [rules, shuffled], path) => {
          expect(check(policy(byDefault, shuffled), path)).toBe(check(policy(byDefault, rules), path));
        },
      ),
      { numRuns: 1_000 },
    );
  });

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

describe('rules that were written for Dapr', () => {
  test('a list of denials denies here whatever it denies there', () => {
    fc.assert(
      fc.property(anyRules, anyPath, (rules, path) => {
        // There, the root is one empty segment, which a star takes.
        fc.pre(path !== '/');
        const denials = rules.map(([name, , ...verbs]): Rule => [name, 'deny', ...verbs]);
        if (dapr('allow', denials, path) === 'deny') expect(check(policy('allow', denials), path)).toBe('deny');
      }),
      { numRuns: 2_000 },
    );
  });

  test('a list of what is allowed allows here no more than there, but for * in the middle', () => {
    const allowed = anyRules.map((rules) =>
      rules.filter(([name]) => !name.includes('/*/')).map(([name, , ...verbs]): Rule => [name, 'allow', ...verbs]),
    );
    fc.assert(
      fc.property(allowed, anyPath, (rules, path) => {
        // There, the first child that matches hides the ones behind it: one rule at a time has no such accidents.
        const there = rules.some((rule) => dapr('deny', [rule], path) === 'allow');
        if (check(policy('deny', rules), path) === 'allow') expect(there).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('cost', () => {
  const timed = (run: () => void): number => {
    const best = Array.from({ length: 5 }, () => {
      const from = performance.now();
      run();
      return performance.now() - from;
    });
    return Math.min(...best);
  };

  test('stars that could match in many ways take no longer than reading rules and path', () => {
    const depth = 20;
    const rules: Rule[] = [];
    for (let at = 1; at <= depth; at++)
      rules.push(
        [`/${'a*/'.repeat(at)}x`, 'allow'],
        [`/${'*a/'.repeat(at)}x`, 'allow'],
        [`/${'*/'.repeat(at)}x`, 'allow'],
      );
    const control = policy('deny', rules);
    expect(timed(() => check(control, 'a/'.repeat(5_000)))).toBeLessThan(50);
    const stars = policy('deny', [[`/${'a*'.repeat(500)}b`, 'allow']]);
    expect(timed(() => check(stars, `/${'a'.repeat(16_000)}`))).toBeLessThan(50);
  });

  test('10,000 rules are read and looked up in', () => {
    const rules = Array.from({ length: 10_000 }, (_, index): Rule => [`/a${index}/*/b*`, 'allow']);
    let control = policy('deny', []);
    expect(
      timed(() => {
        control = policy('deny', rules);
      }),
    ).toBeLessThan(2_000);
    expect(check(control, '/a9999/x/bc')).toBe('allow');
    expect(timed(() => check(control, '/a9999/x/bc'))).toBeLessThan(5);
  });
});
