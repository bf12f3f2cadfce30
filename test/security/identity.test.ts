import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { exportJWK, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { isSidecarError } from '../../src/errors.ts';
import { type Identity, makeIdentity } from '../../src/security/identity.ts';
import type { IdentityKey, IdentityOptions } from '../../src/security/identity-options.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/index.ts';

const SECRET = 'a secret of more than thirty-two bytes';
const OTHER = 'another secret of more than 32 bytes..';
const pair = (): { privateKey: KeyObject; publicKey: KeyObject } => generateKeyPairSync('ed25519');
const pem = (key: KeyObject): string =>
  key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }) as string;

interface Side extends Omit<IdentityOptions, 'keys'> {
  readonly appId?: string;
  readonly namespace?: string;
}

let count = 0;
function side(
  keys: readonly IdentityKey[],
  clock: VirtualClock,
  { appId = 'a', namespace = 'default', ...rest }: Side = {},
): Identity {
  return makeIdentity({ keys, ...rest }, { appId, namespace, clock, newId: () => `id-${++count}` });
}

const B = { appId: 'b', namespace: 'default' };
const shared = [{ secret: SECRET }];

/** Why a token is refused; fails when it is not. */
async function refusal(verified: Promise<unknown>, token = ''): Promise<string> {
  const error = await verified.then(
    (caller) => expect.fail(`accepted: ${JSON.stringify(caller)}`),
    (thrown: unknown) => thrown,
  );
  if (!isSidecarError(error)) throw error;
  expect([error.code, error.status]).toEqual(['ERR_UNAUTHORIZED', 401]);
  if (token.length > 8) expect(error.message).not.toContain(token.slice(0, 8));
  return error.message;
}

describe.each<[name: string, keys: () => readonly IdentityKey[]]>([
  ['a shared secret', () => shared],
  ['a secret in bytes', () => [{ secret: Buffer.alloc(32, 7) }]],
  ['a key pair in PEM', () => [{ privateKey: pem(pair().privateKey) }]],
  ['a key pair in JWK', () => [{ privateKey: pair().privateKey.export({ format: 'jwk' }) }]],
])('with %s', (_, make) => {
  test('the callee learns who calls', async () => {
    const keys = make();
    const clock = virtualClock();
    const caller = side(keys, clock, { namespace: 'prod', trustDomain: 'example.org' });
    expect(await side(keys, clock, B).verify(await caller.sign(B))).toEqual({
      appId: 'a',
      namespace: 'prod',
      trustDomain: 'example.org',
    });
  });

  test('a token that was tampered with is refused, wherever', async () => {
    const keys = make();
    const clock = virtualClock();
    const [token, callee] = [await side(keys, clock).sign(B), side(keys, clock, B)];
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 2), fc.constantFrom('A', 'z', '.', '-'), async (at, letter) => {
        fc.pre(token[at] !== letter);
        await refusal(callee.verify(token.slice(0, at) + letter + token.slice(at + 1)), token);
      }),
      { numRuns: 60 },
    );
    expect((await callee.verify(token)).appId).toBe('a');
  });
});

describe('what a token is good for', () => {
  test('another application refuses it, and another namespace', async () => {
    const clock = virtualClock();
    const token = await side(shared, clock).sign(B);
    expect(await refusal(side(shared, clock, { appId: 'c' }).verify(token), token)).toMatch('another application');
    expect(await refusal(side(shared, clock, { ...B, namespace: 'test' }).verify(token))).toMatch(
      'another application',
    );
  });

  test('it lives for 60 s, and 30 s more for clocks that differ, also where it was verified before', async () => {
    const clock = virtualClock();
    const token = await side(shared, clock).sign(B);
    const callee = side(shared, clock, B);
    await clock.advance('89s');
    await callee.verify(token);
    await side(shared, clock, B).verify(token);
    await clock.advance('1s');
    expect(await refusal(callee.verify(token), token)).toMatch('expired');
    expect(await refusal(side(shared, clock, B).verify(token))).toMatch('expired');
  });

  test('one from the future is accepted for 30 s', async () => {
    const [now, ahead, farAhead] = [0, 30_000, 31_000].map((startAt) => virtualClock({ startAt: 1_000_000 + startAt }));
    if (!now || !ahead || !farAhead) throw new Error('no clocks');
    await side(shared, now, B).verify(await side(shared, ahead).sign(B));
    expect(await refusal(side(shared, now, B).verify(await side(shared, farAhead).sign(B)))).toMatch('the future');
  });
});

describe('tokens are kept', () => {
  test('for half of their life, one for each callee', async () => {
    const clock = virtualClock();
    const caller = side(shared, clock);
    const first = await caller.sign(B);
    await clock.advance(29_999);
    expect(await caller.sign(B)).toBe(first);
    expect(await caller.sign({ appId: 'c', namespace: 'default' })).not.toBe(first);
    expect(await caller.sign({ ...B, namespace: 'other' })).not.toBe(first);
    await clock.advance(1);
    expect(await caller.sign(B)).not.toBe(first);
  });

  test('so that no more than 1,000 of them are held', async () => {
    const clock = virtualClock();
    const caller = side(shared, clock);
    const first = await caller.sign(B);
    for (let index = 0; index < 1_000; index++) await caller.sign({ appId: `x${index}`, namespace: 'default' });
    expect(await caller.sign(B)).not.toBe(first);
  });
});

describe('a change of keys', () => {
  const old: IdentityKey = { secret: SECRET };
  const young: IdentityKey = { privateKey: pem(pair().privateKey) };
  test.each<[step: string, one: readonly IdentityKey[], other: readonly IdentityKey[]]>([
    ['the new one is added', [old], [old, young]],
    ['the new one signs', [old, young], [young, old]],
    ['the old one is taken away', [young, old], [young]],
  ])('%s: both sides go on understanding each other', async (_, one, other) => {
    const clock = virtualClock();
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const)
      expect(await side(to, clock, B).verify(await side(from, clock).sign(B))).toMatchObject({ appId: 'a' });
  });

  test('afterwards the old one is worth nothing', async () => {
    const clock = virtualClock();
    const token = await side([old], clock).sign(B);
    expect(await refusal(side([young], clock, B).verify(token), token)).toMatch('an unknown key');
  });

  test('a key with the name of another does not verify', async () => {
    const clock = virtualClock();
    const token = await side([{ secret: OTHER, kid: 'k' }], clock).sign(B);
    expect(await refusal(side([{ secret: SECRET, kid: 'k' }], clock, B).verify(token))).toMatch('wrong signature');
  });
});

describe('keys that belong to applications', () => {
  const [a, b, c] = [pair(), pair(), pair()];
  const peers = { a: { publicKey: pem(a.publicKey) }, 'c.prod': [{ publicKey: pem(c.publicKey) }, { secret: SECRET }] };
  const callee = (clock: VirtualClock): Identity => side([{ privateKey: pem(b.privateKey) }], clock, { ...B, peers });
  const from = (key: IdentityKey, clock: VirtualClock, who: Side): Promise<string> => side([key], clock, who).sign(B);

  test('each speaks for its own', async () => {
    const clock = virtualClock();
    const verify = async (key: IdentityKey, who: Side): Promise<unknown> =>
      callee(clock).verify(await from(key, clock, who));
    expect(await verify({ privateKey: pem(a.privateKey) }, { appId: 'a' })).toMatchObject({ appId: 'a' });
    expect(await verify({ privateKey: pem(b.privateKey) }, B)).toMatchObject({ appId: 'b' });
    const prod = { appId: 'c', namespace: 'prod' };
    expect(await verify({ privateKey: pem(c.privateKey) }, prod)).toMatchObject(prod);
    expect(await verify({ secret: SECRET }, prod)).toMatchObject(prod);
  });

  test.each<[what: string, key: IdentityKey, who: Side, reason: string]>([
    [
      'for another application',
      { privateKey: pem(a.privateKey) },
      { appId: 'c', namespace: 'prod' },
      'a key of another application',
    ],
    ['for the callee itself', { privateKey: pem(a.privateKey) }, B, 'a key of another application'],
    [
      'from another namespace',
      { privateKey: pem(a.privateKey) },
      { appId: 'a', namespace: 'prod' },
      'a key of another application',
    ],
    ['with the callee’s own key', { privateKey: pem(b.privateKey) }, { appId: 'a' }, 'a key of another application'],
    [
      'for an application that is not listed',
      { privateKey: pem(a.privateKey) },
      { appId: 'x' },
      'a key of another application',
    ],
    ['for a prototype key', { privateKey: pem(a.privateKey) }, { appId: '__proto__' }, 'a key of another application'],
    ['with a key that is not listed', { privateKey: pem(pair().privateKey) }, { appId: 'a' }, 'an unknown key'],
  ])('none speaks %s', async (_, key, who, reason) => {
    const clock = virtualClock();
    expect(await refusal(callee(clock).verify(await from(key, clock, who)))).toMatch(reason);
  });
});

describe('forged tokens', () => {
  const clock = virtualClock();
  const now = Math.floor(clock.now() / 1000);
  const claims = { iss: 'public', sub: 'default/a', aud: 'default/b', iat: now, exp: now + 60, jti: '1' };
  const head = { alg: 'HS256', kid: 'k', typ: 'insidecar-identity+jwt' };
  const key: IdentityKey = { secret: SECRET, kid: 'k' };
  const sign = (payload: JWTPayload, header: object = {}): Promise<string> =>
    new SignJWT(payload).setProtectedHeader({ ...head, ...header }).sign(Buffer.from(SECRET));
  const unsigned = (header: object, signature = ''): string =>
    `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.${signature}`;

  test('the claims that they begin with are those of a good one', async () => {
    expect(await side([key], clock, B).verify(await sign(claims))).toMatchObject({ appId: 'a' });
  });

  test.each<[what: string, claims: Record<string, unknown>, reason: string]>([
    ...Object.keys(claims).map((name): [string, Record<string, unknown>, string] => [
      `no ${name}`,
      { ...claims, [name]: undefined },
      `claim ${name}`,
    ]),
    ['a longer life', { ...claims, iat: now - 91, exp: now + 9_999 }, 'expired'],
    ['an app ID with a slash', { ...claims, sub: 'default/a/b' }, 'does not name'],
    ['an empty app ID', { ...claims, sub: 'default/' }, 'does not name'],
    ['a subject that is no text', { ...claims, sub: 5 }, 'does not name'],
    ['an empty trust domain', { ...claims, iss: '' }, 'does not name'],
    ['a life that is no number', { ...claims, exp: 'never' }, 'claim exp'],
    ['not before later', { ...claims, nbf: now + 60 }, 'claim nbf'],
  ])('%s', async (_, forged, reason) => {
    const token = await sign(forged as JWTPayload);
    expect(await refusal(side([key], clock, B).verify(token), token)).toMatch(reason);
  });

  test.each<[what: string, make: () => string | Promise<string>]>([
    ['nothing', () => ''],
    ['no token', () => 'x'],
    ['two tokens in one header', async () => `${await sign(claims)}, ${await sign(claims)}`],
    ['alg none', () => unsigned({ ...head, alg: 'none' })],
    ['alg none with a signature', () => unsigned({ ...head, alg: 'None' }, 'AAAA')],
    ['no alg', () => unsigned({ ...head, alg: undefined })],
    ['another HMAC', () => sign(claims, { alg: 'HS512' })],
    ['another type', () => sign(claims, { typ: 'JWT' })],
    ['no type', () => sign(claims, { typ: undefined })],
    ['no kid', () => sign(claims, { kid: undefined })],
    ['a kid that is no text', () => unsigned({ ...head, kid: ['k'] }, 'AAAA')],
    ['a prototype key for a kid', () => sign(claims, { kid: '__proto__' })],
    ['a critical extension', () => unsigned({ ...head, crit: ['x'], x: 1 }, 'AAAA')],
    [
      'an embedded key',
      async () => {
        const own = pair();
        const jwk = await exportJWK(own.publicKey);
        return new SignJWT(claims).setProtectedHeader({ ...head, alg: 'EdDSA', jwk }).sign(own.privateKey);
      },
    ],
  ])('%s', async (_, make) => {
    const token = await make();
    await refusal(side([key], clock, B).verify(token), token);
  });

  test.each(['pem', 'der', 'x'])('a public key is no HMAC secret (%s)', async (form) => {
    const { privateKey, publicKey } = pair();
    const callee = side([{ privateKey: pem(privateKey), kid: 'k' }], clock, B);
    const secret = {
      pem: Buffer.from(pem(publicKey)),
      der: publicKey.export({ format: 'der', type: 'spki' }),
      x: Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
    }[form];
    if (secret === undefined) throw new Error(form);
    const body = unsigned(head).slice(0, -1);
    await refusal(callee.verify(`${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`));
  });

  test('one that is too long is not even read', async () => {
    const token = await sign({ ...claims, more: 'x'.repeat(4_000) });
    expect(await refusal(side([key], clock, B).verify(token))).toMatch('longer than 2048 characters');
  });
});

describe('keys that cannot be used are refused, and not shown', () => {
  const secretive = 'hunter2';
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const ed = pair();
  test.each<[options: () => unknown, message: string]>([
    [() => ({}), 'options.identity.keys is missing'],
    [() => secretive, 'options.identity must be object'],
    [() => ({ keys: [] }), 'options.identity.keys must NOT have fewer than 1 items'],
    [() => ({ keys: [secretive] }), 'options.identity.keys.0 must be object'],
    [() => ({ keys: { secret: secretive } }), 'options.identity.keys must be array'],
    [
      () => ({ keys: [{ secret: secretive }] }),
      'options.identity.keys.0.secret must have at least 32 bytes: actual is 7',
    ],
    [() => ({ keys: [{ secret: 5 }] }), 'options.identity.keys.0.secret must be text or bytes'],
    [() => ({ keys: [{}] }), 'options.identity.keys.0 must have a secret, a privateKey or a publicKey'],
    [() => ({ keys: [{ privateKey: secretive }] }), 'keys.0.privateKey cannot be read: expected an Ed25519 key'],
    [
      () => ({ keys: [{ privateKey: pem(rsa.privateKey) }] }),
      'keys.0.privateKey must be an Ed25519 key: actual is rsa',
    ],
    [() => ({ keys: [{ publicKey: pem(ed.publicKey) }] }), 'the first of the keys signs'],
    [() => ({ keys: [{ privateKey: pem(ed.privateKey), publicKey: pem(pair().publicKey) }] }), 'it is another'],
    [() => ({ keys: shared, peers: { b: { publicKey: pem(ed.privateKey) } } }), 'peers.b.publicKey cannot be read'],
    [() => ({ keys: shared, peers: { b: [] } }), 'peers.b must NOT have fewer than 1 items'],
    [() => ({ keys: shared, peers: { b: secretive } }), 'options.identity.peers.b must be object or array'],
    [() => ({ keys: shared, peers: { b: { key: secretive } } }), 'peers.b.0: unknown field "key"'],
    [() => ({ keys: shared, peers: { 'a.b.c': shared } }), 'expected <appId> or <appId>.<namespace>'],
    [
      () => ({
        keys: [
          { secret: SECRET, kid: 'k' },
          { secret: OTHER, kid: 'k' },
        ],
      }),
      'is also that of another key',
    ],
    [() => ({ keys: shared, trustDomain: 'a/b' }), 'options.identity.trustDomain must match pattern'],
  ])('%#: %s', (options, message) => {
    let thrown: unknown;
    try {
      makeIdentity(options() as IdentityOptions, { ...B, clock: virtualClock(), newId: () => '1' });
    } catch (error) {
      thrown = error;
    }
    if (!isSidecarError(thrown)) throw thrown ?? new Error('accepted');
    expect(thrown.code).toBe('ERR_CONFIGURATION');
    expect(thrown.message).toContain(message);
    expect(thrown.message).not.toContain(secretive);
  });
});
