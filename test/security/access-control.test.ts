import { describe, expect, test } from 'vitest';
import { isSidecarError } from '../../src/errors.ts';
import { makeAccessControl } from '../../src/security/access-control.ts';
import type { AccessAction, AccessControlOptions, AccessOperation } from '../../src/security/access-options.ts';
import type { AppOptions } from '../../src/sidecar/app-options.ts';
import { Sidecar } from '../../src/sidecar/sidecar.ts';
import { daprDecision } from '../support/dapr-access-model.ts';
import { RecordingLogger } from '../support/logger.ts';
import { CALLER, check, dapr, operations, optionsOf, policy, type Rule } from './access-rules.ts';

const PLAIN = 'an allowed plain operation is one path, not a prefix';
const DENY_WIDE = 'a deny covers what lies below, also past one segment';
const STAR = '* is exactly one segment';
const CASE = 'an allow holds in its own case only';
const SPECIFIC = 'a deny is not put out of force by a wider allow in front of it';

type Row = readonly [
  defaultAction: AccessAction,
  rules: string,
  call: string,
  dapr: AccessAction,
  ours: AccessAction,
  why?: string,
];

/** `/a deny GET POST, /b allow`: without verbs for all. */
function rulesOf(text: string): Rule[] {
  return text.split(', ').map((rule) => {
    const [name = '', action, ...verbs] = rule.split(' ');
    return [name, action as AccessAction, ...verbs];
  });
}

/** Every row of the executed table: policy default, operations, "[verb] path", Dapr's answer, ours, why not the same. */
const ROWS: readonly Row[] = [
  ['deny', '/public allow', 'public', 'allow', 'allow'],
  ['deny', '/public allow', 'public/', 'allow', 'allow'],
  ['deny', '/public allow', 'PUBLIC', 'allow', 'deny', CASE],
  ['deny', '/public allow', 'public/extra', 'allow', 'deny', PLAIN],
  ['deny', '/public allow', 'publicx', 'deny', 'deny'],
  ['deny', '/public allow', '', 'deny', 'deny'],
  ['deny', '/op/* allow GET', 'op', 'allow', 'deny', STAR],
  ['deny', '/op/* allow GET', 'op/', 'allow', 'deny', STAR],
  ['deny', '/op/* allow GET', 'op/a', 'allow', 'allow'],
  ['deny', '/op/* allow GET', 'POST op/a', 'deny', 'deny'],
  ['deny', '/op/* allow GET', 'op/a/b', 'deny', 'deny'],
  ['deny', '/op/* allow GET', 'opx/a', 'deny', 'deny'],
  ['deny', '/op/** allow', 'op', 'allow', 'allow'],
  ['deny', '/op/** allow', 'op/', 'allow', 'allow'],
  ['deny', '/op/** allow', 'op/a', 'allow', 'allow'],
  ['deny', '/op/** allow', 'op/a/b/c', 'allow', 'allow'],
  ['deny', '/a*c allow', 'abc', 'allow', 'allow'],
  ['deny', '/a*c allow', 'ac', 'allow', 'allow'],
  ['deny', '/a*c allow', 'abc/d', 'allow', 'deny', PLAIN],
  ['deny', '/a*c allow', 'abd', 'deny', 'deny'],
  ['allow', '/* deny, /ok allow', 'ok', 'deny', 'deny'],
  ['allow', '/* deny, /ok allow', 'x', 'deny', 'deny'],
  ['allow', '/* deny, /ok allow', 'x/y', 'allow', 'deny', DENY_WIDE],
  ['allow', '/* deny, /ok allow', 'ok/y', 'allow', 'deny', DENY_WIDE],
  ['allow', '/* deny, /ok allow', '', 'deny', 'deny'],
  ['allow', '/ok allow, /* deny', 'ok', 'allow', 'allow'],
  ['allow', '/ok allow, /* deny', 'x', 'deny', 'deny'],
  ['allow', '/ok allow, /* deny', 'x/y', 'allow', 'deny', DENY_WIDE],
  ['allow', '/ok allow, /* deny', '', 'deny', 'deny'],
  ['deny', '/a/** allow, /a/b deny', 'a/b', 'allow', 'deny', SPECIFIC],
  ['deny', '/a/** allow, /a/b deny', 'a/x', 'allow', 'allow'],
  ['deny', '/a/b deny, /a/** allow', 'a/b', 'deny', 'deny'],
  ['deny', '/a/b deny, /a/** allow', 'a/b/c', 'deny', 'deny'],
  ['deny', '/a/b deny, /a/** allow', 'a/x/y', 'allow', 'allow'],
  ['deny', '/op deny GET, /op/x allow GET', 'op/x', 'deny', 'deny'],
  ['deny', '/op/x allow GET, /op deny GET', 'op/x', 'deny', 'deny'],
  ['deny', '/a/b/* allow, /a/b/c/d allow', 'a/b', 'allow', 'deny', STAR],
  ['deny', '/a/b/* allow, /a/b/c/d allow', 'a/b/c', 'allow', 'allow'],
  ['deny', '/a/b/* allow, /a/b/c/d allow', 'a/b/c/d', 'allow', 'allow'],
  ['deny', '/a/b/* allow, /a/b/c/d allow', 'a/b/x/d', 'deny', 'deny'],
  ['deny', '* allow', '', 'allow', 'deny', STAR],
  ['deny', '* allow', 'a', 'allow', 'allow'],
  ['deny', '* allow', 'a/b', 'deny', 'deny'],
  ['deny', '/** allow', '', 'allow', 'allow'],
  ['deny', '/** allow', 'a', 'allow', 'allow'],
  ['deny', '/** allow', 'a/b', 'allow', 'allow'],
  ['deny', '/op allow GET POST, /op allow DELETE', 'op', 'allow', 'allow'],
  ['deny', '/op allow GET POST, /op allow DELETE', 'DELETE op', 'deny', 'deny'],
];

describe('access control and the table of Dapr', () => {
  test.each(ROWS.map((row) => ({ row, title: row.slice(0, 3).join(': ') })))('$title', ({ row }) => {
    const [defaultAction, text, call, expectedOfDapr, ours, why] = row;
    const rules = rulesOf(text);
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
  test.each<[what: string, defaultAction: AccessAction, rules: string, call: string, expected: AccessAction]>([
    ['a deny for all verbs goes before an allow of one', 'allow', '/op deny, /op allow GET', 'GET op', 'deny'],
    ['a second operation of a name denies', 'allow', '/op allow GET, /op deny', 'POST op', 'deny'],
    ['a verb by name goes before *', 'allow', '/op allow GET, /op deny', 'GET op', 'allow'],
    ['a verb by name goes before * in one list', 'deny', '/op allow, /op deny DELETE', 'DELETE op', 'deny'],
    ['deny wins over the same allow', 'allow', '/op allow, /op deny', 'op', 'deny'],
    ['another verb falls to the next rule', 'allow', '/a/b allow GET, /a/** deny', 'POST a/b', 'deny'],
    ['a denied GET denies HEAD', 'allow', '/op deny GET', 'HEAD op', 'deny'],
    ['an allowed GET does not allow HEAD', 'deny', '/op allow GET', 'HEAD op', 'deny'],
    ['HEAD can be allowed by name', 'allow', '/op allow HEAD, /op deny GET', 'HEAD op', 'allow'],
    ['a request verb in small letters', 'deny', '/op allow GET', 'get op', 'allow'],
    ['a verb of no rule', 'deny', '/op allow', 'PROPFIND op', 'allow'],
    ['a verb that Dapr does not know counts as POST', 'allow', '/op deny POST', 'PROPFIND op', 'deny'],
    ['a verb that Dapr does not know is not allowed as POST', 'deny', '/op allow POST', 'PROPFIND op', 'deny'],
    ['a deny holds in any case', 'allow', '/admin deny', '/ADMIN/Users', 'deny'],
    ['a deny in capitals holds in small letters', 'allow', '/Admin deny', '/admin', 'deny'],
    ['a deny holds for İ, which is i to Dapr', 'allow', '/admin deny', '/ADMİN', 'deny'],
    ['a deny holds for a Σ at the end of a word', 'allow', '/σοσ deny', '/ΣΟΣ', 'deny'],
    ['a deny with a Σ at the end of a word holds', 'allow', '/ΣΟΣ deny', '/σοσ', 'deny'],
    ['an allow in capitals', 'deny', '/Admin allow', '/Admin', 'allow'],
    ['an allow in another case than asked', 'deny', '/Admin allow', '/admin', 'deny'],
    ['names that differ in case are one to Dapr', 'deny', '/admin deny, /Admin allow', '/Admin', 'deny'],
    ['a deny holds with path parameters', 'allow', '/admin deny', '/Admin;a=1/users;b', 'deny'],
    ['an allow with path parameters is its own', 'deny', '/a;v=1 allow', '/a;v=1', 'allow'],
    ['an allow does not hold with path parameters', 'deny', '/a allow', '/a;v=1', 'deny'],
    ['a plain deny covers what is below', 'allow', '/admin deny', '/admin/users/1', 'deny'],
    ['an allow below a deny', 'allow', '/admin deny, /admin/health allow', '/admin/health', 'deny'],
    ['an allow below a deny, in front of it', 'allow', '/admin/health allow, /admin deny', '/admin/health', 'deny'],
    ['an allow in front of a deny for all', 'allow', '/admin/health allow, /** deny', '/admin/health', 'allow'],
    ['an explicit ** beside a plain deny', 'deny', '/a deny, /a/** allow', '/a/b', 'deny'],
    ['more fixed text in front', 'deny', '/ab* allow, /a* deny', '/abc', 'allow'],
    ['more fixed text behind', 'deny', '/a* deny, /ab* allow', '/abc', 'deny'],
    ['a deny of more fixed text behind', 'deny', '/a* allow, /ab* deny', '/abc', 'deny'],
    ['equal globs: deny wins', 'allow', '/a* allow, /*c deny', '/abc', 'deny'],
    ['equal globs, the other way round: deny wins', 'allow', '/*c deny, /a* allow', '/abc', 'deny'],
    ['a segment that was taken is not taken back', 'deny', '/a*/x allow, /ab/c allow', '/ab/c', 'deny'],
    ['one star in the middle of a deny is one segment', 'allow', '/a/*/c deny', '/a/b/c', 'deny'],
    ['several stars in a segment', 'deny', '/a*b*c allow', '/aXbYc', 'allow'],
    ['several stars in a segment, in another order', 'deny', '/a*b*c allow', '/aXcYb', 'deny'],
    ['stars that would have to overlap', 'deny', '/aba*aba allow', '/ababa', 'deny'],
    ['middle and end that would have to overlap', 'deny', '/a*bc*cd allow', '/axbcd', 'deny'],
    ['doubled slashes in a request', 'deny', '/a/b allow', '///a//b//', 'allow'],
    ['doubled slashes in a deny', 'allow', '//a//b/ deny', '/a/b', 'deny'],
    ['a prototype key as a path', 'deny', '/a allow', '/__proto__/constructor', 'deny'],
    ['a prototype key as a rule', 'deny', '/__proto__ allow', '/__proto__', 'allow'],
  ])('%s', (_what, defaultAction, text, call, expected) => {
    const [path = '', verb = 'GET'] = call.split(' ').reverse();
    expect(check(policy(defaultAction, rulesOf(text)), path, verb)).toBe(expected);
  });

  test.each<[defaultAction: AccessAction, rules: string, idle: readonly string[]]>([
    ['allow', '/* deny, /ok allow', ['operations.1 ("/ok")']],
    ['deny', '/op deny GET, /op/x allow GET', ['operations.1 ("/op/x")']],
    ['deny', '/op allow GET POST, /op allow DELETE', ['operations.1 ("/op")']],
    ['deny', '/a* deny, /ab* allow, /b* allow', ['operations.1 ("/ab*")']],
    ['deny', '/op deny GET, /op/* allow', ['operations.1 ("/op/*")']],
    ['deny', '/a deny, /*b deny, /** allow', []],
    ['allow', '/ok allow, /* deny', []],
    ['deny', '/op allow, /op/x deny', []],
  ])('by default %s, %s: tells which operations allow nothing', (defaultAction, text, idle) => {
    const told: string[] = [];
    makeAccessControl(optionsOf(defaultAction, rulesOf(text)), { warn: (message) => told.push(message) });
    expect(told).toEqual(
      idle.map((which) =>
        expect.stringContaining(`options.accessControl.policies.0.${which} allows nothing: other operations deny`),
      ),
    );
  });
});

describe('for an application that speaks gRPC', () => {
  const checkGrpc = (defaultAction: AccessAction, text: string, path: string, verb = 'POST'): AccessAction => {
    const options = optionsOf(defaultAction, rulesOf(text));
    const ours = makeAccessControl(options, { isGrpc: true }).check({ caller: CALLER, verb, path });
    if (ours === 'allow') expect(daprDecision(options, { caller: CALLER, verb, path }, true)).toBe('allow');
    return ours;
  };

  test('a deny is for all verbs, also when it names one', () => {
    expect(checkGrpc('allow', '/op deny GET', '/op')).toBe('deny');
    expect(checkGrpc('allow', '/op deny GET', '/other')).toBe('allow');
  });

  test('the order is that of paths as they are written', () => {
    expect(checkGrpc('deny', '/A/z allow, /a* deny, /a/b allow', '/a/b')).toBe('deny');
    expect(checkGrpc('deny', '/A/z allow, /a/b allow, /a* deny', '/a/b')).toBe('allow');
  });

  test('an allow of one verb stays one of that verb', () => {
    expect(checkGrpc('deny', '/op allow GET', '/op', 'GET')).toBe('allow');
    expect(checkGrpc('deny', '/op allow GET', '/op')).toBe('deny');
  });

  test('a sidecar takes it from its application', () => {
    const warnings = (app: AppOptions): number => {
      const logger = new RecordingLogger();
      const accessControl = optionsOf('deny', rulesOf('/A/z allow, /a* deny, /a/b allow'));
      new Sidecar({ appId: 'callee', logger, app, accessControl });
      return logger.at('warn').filter(({ message }) => message.includes('allows nothing')).length;
    };
    expect([warnings({ port: 1 }), warnings({ port: 1, protocol: 'grpc' })]).toEqual([0, 1]);
  });
});

test('a sidecar warns of operations that allow nothing', () => {
  const logger = new RecordingLogger();
  new Sidecar({ appId: 'callee', logger, accessControl: optionsOf('allow', rulesOf('/* deny, /ok allow')) });
  expect(logger.at('warn').map(({ message }) => message)).toEqual([expect.stringContaining('("/ok") allows nothing')]);
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
    '/%61dmin',
    '/100%',
    '/50%x',
    '/a\u0000b',
    '/a\r\nb',
    '/a?b',
    '/a#b',
  ])('%j', (path) => {
    expect(check(open, path)).toBe('deny');
    expect(open.check({ caller: undefined, verb: 'GET', path })).toBe('deny');
  });

  test.each(['/a b', '/é', '/a..b', '/...', '/a;b=..', '/.well-known'])('but not %j', (path) => {
    expect(check(open, path)).toBe('allow');
  });
});

describe('a path that the application gets as it came', () => {
  const control = policy('deny', [['/public/**', 'allow']]);
  const raw = (path: string, rawPath: string): AccessAction =>
    control.check({ caller: CALLER, verb: 'GET', path, rawPath });
  test.each<[path: string, rawPath: string, expected: AccessAction]>([
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
    [
      { policies: [CALLER, { ...CALLER, trustDomain: 'other' }] },
      'policies.1 is a second policy for caller in namespace default',
    ],
    [withOperation({ httpVerb: [] }), 'httpVerb must NOT have fewer than 1 items'],
    [withOperation({ httpVerb: ['GTE'] }), 'operations.0.httpVerb has "GTE": expected GET, HEAD, POST, PUT, DELETE'],
    [withOperation({ httpVerb: ['get'] }), 'operations.0.httpVerb has "get": expected GET, HEAD'],
    [withOperation({ httpVerb: ['PROPFIND'] }), 'operations.0.httpVerb has "PROPFIND": expected GET, HEAD'],
    [withOperation({ action: 'yes' }), 'operations.0.action must match pattern'],
    [withOperation({ name: '' }), 'operations.0.name must NOT have fewer than 1 characters'],
    [withOperation({ name: '/a/../b' }), 'can match nothing'],
    [withOperation({ name: '/a%20b' }), 'can match nothing'],
    [withOperation({ name: '/100%' }), 'can match nothing'],
    [withOperation({ name: '/a?b=1' }), 'can match nothing'],
    [withOperation({ name: '/a/*/c' }), '"/a/*/c" allows nothing: expected * as the last segment'],
    [withOperation({ name: '/*/c' }), '"/*/c" allows nothing: expected * as the last segment'],
    [withOperation({ name: '/a/' }), '"/a/" allows nothing: expected single slashes, and none at the end'],
    [withOperation({ name: '//a' }), '"//a" allows nothing: expected single slashes, and none at the end'],
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

  test('actions in any case are understood', () => {
    const control = makeAccessControl({
      defaultAction: 'DENY' as AccessAction,
      policies: [{ ...CALLER, operations: [{ name: 'a', httpVerb: ['POST'], action: 'Allow' as AccessAction }] }],
    });
    expect([check(control, '/a', 'POST'), check(control, '/a', 'GET')]).toEqual(['allow', 'deny']);
  });
});

describe('cost', () => {
  /** In ms of the processor, which other programs do not change. */
  const timed = (run: () => void): number => {
    const best = Array.from({ length: 3 }, () => {
      const from = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(from);
      return (user + system) / 1_000;
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
        [`/${'*/'.repeat(at)}x`, 'deny'],
      );
    const control = policy('deny', rules);
    expect(timed(() => check(control, 'a/'.repeat(5_000)))).toBeLessThan(50);
    const stars = policy('deny', [[`/${'a*'.repeat(500)}b`, 'allow']]);
    expect(timed(() => check(stars, `/${'a'.repeat(16_000)}`))).toBeLessThan(50);
  });

  test('10,000 rules are read and looked up in', () => {
    const rules = Array.from({ length: 10_000 }, (_, index): Rule => [`/a${index}/c*/b*`, 'allow']);
    let control = policy('deny', []);
    expect(
      timed(() => {
        control = policy('deny', rules);
      }),
    ).toBeLessThan(2_000);
    expect(check(control, '/a9999/cx/bc')).toBe('allow');
    expect(timed(() => check(control, '/a9999/cx/bc'))).toBeLessThan(5);
  });
});
