/** How payloads are shown: digit for digit, with secrets masked, cut at a limit. */
import { describe, expect, test } from 'vitest';
import { maskSecrets } from '../../src/inspector/mask.ts';
import { type PayloadOption, payloadViews } from '../../src/inspector/payload.ts';

const PLACE = { kind: 'message', name: 'orders' } as const;

function view(data: string | Uint8Array, contentType?: string, option: PayloadOption = 'full') {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  return payloadViews(option).short({ bytes, contentType }, PLACE);
}

describe('secrets in JSON', () => {
  const NAMES = [
    'password',
    'Token',
    'AUTHORIZATION',
    'secret',
    'apiKey',
    'api_key',
    'API-KEY',
    'accessToken',
    'client_secret',
  ];
  test.each(NAMES)('the value of %s is masked at any depth, whatever it is', (name) => {
    for (const value of [
      '"s3cret"',
      '"s3cret\\" }, "',
      '12345',
      '{"a":["s3cret"]}',
      '["s3cret", [1]]',
      'null',
      'true',
    ]) {
      const text = `{"a":1.10,"b":[{"${name}" : ${value}, "c":12345678901234567890}],"d":"x"}`;
      const { text: masked, isMasked } = maskSecrets(text);
      expect(masked).toBe(`{"a":1.10,"b":[{"${name}" : "***", "c":12345678901234567890}],"d":"x"}`);
      expect(isMasked).toBe(true);
      expect(() => JSON.parse(masked)).not.toThrow();
    }
  });

  test('a name in escapes is recognised', () => {
    expect(maskSecrets('{"\\u0070assword":"s3cret"}').text).toBe('{"\\u0070assword":"***"}');
  });

  test('other names and values stay as they are', () => {
    for (const text of [
      '{"tokens":1}',
      '["password","x"]',
      '"password"',
      '{"a":"\\"password\\":1"}',
      '{"a":"b\\\\"}',
      '{}',
    ])
      expect(maskSecrets(text)).toEqual({ text, isMasked: false });
  });

  test('text that is cut or broken is masked as far as it can be told', () => {
    expect(maskSecrets('{"password":"s3cre').text).toBe('{"password":"***"');
    expect(maskSecrets('{"password":{"a":["s3cret",').text).toBe('{"password":"***"');
    expect(maskSecrets('"password":s3cret, rest').text).toBe('"password":"***", rest');
    for (const text of ['"', '{"', '{"a', '{"a\\', '{"a":', '{"token":', '{"token"', '\\"'])
      expect(() => maskSecrets(text)).not.toThrow();
  });

  test('a text of a mebibyte takes no second', () => {
    const hostile = [
      `${'"'.repeat(1 << 20)}`,
      '{"token":'.repeat(100_000),
      `"${'\\'.repeat(1 << 20)}`,
      '['.repeat(1 << 20),
    ];
    const startedAt = performance.now();
    for (const text of hostile) maskSecrets(text);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });
});

describe('a view', () => {
  test('JSON is shown digit for digit', () => {
    const text = '{"id": 12345678901234567890, "price": 1.10}';
    expect(view(text, 'application/json')).toEqual({
      ...{ contentType: 'application/json', bytes: text.length, format: 'json', value: text },
      ...{ isCut: false, isMasked: false },
    });
  });

  test('text that claims to be JSON is text, masked all the same', () => {
    expect(view('{"token":"s3cret"', 'application/json')).toMatchObject({ format: 'text', value: '{"token":"***"' });
  });

  test('secrets of a form are masked', () => {
    const form = view('user=ann&pass%77ord=s3cret&n=1', 'application/x-www-form-urlencoded');
    expect(form).toMatchObject({ format: 'text', value: 'user=ann&pass%77ord=***&n=1', isMasked: true });
  });

  test('bytes that are no text are base64', () => {
    expect(view(Buffer.from([0xff, 0, 1]))).toMatchObject({ format: 'base64', value: '/wAB', isCut: false, bytes: 3 });
    const long = view(Buffer.alloc(4_096, 0xff));
    expect(long).toMatchObject({ isCut: true, bytes: 4_096 });
    expect(Buffer.from(long.value, 'base64').length).toBeLessThanOrEqual(2_048);
  });

  test('long text is cut between characters, with its whole size', () => {
    const { value, isCut, bytes } = view('é'.repeat(2_000), 'text/plain');
    expect([value.length, isCut, bytes]).toEqual([1_024, true, 4_000]);
    expect(view(`x${'é'.repeat(2_000)}`, 'text/plain').value).not.toContain('\ufffd');
    expect(payloadViews('full').long({ json: JSON.stringify('x'.repeat(60_000)) }, PLACE).isCut).toBe(false);
  });

  test('a secret is masked before the text is cut', () => {
    const text = `{"token":"${'s'.repeat(3_000)}","a":1}`;
    expect(view(text, 'application/json').value).toBe('{"token":"***","a":1}');
  });
});

describe('the option payloads', () => {
  test('none hides all', () => {
    const hidden = { format: 'hidden', value: '', isCut: false, isMasked: true, bytes: 7 };
    expect(view('{"a":1}', 'application/json', 'none')).toMatchObject(hidden);
  });

  test('a function gets the value and its place; what it leaves alone keeps its digits', () => {
    const seen: unknown[] = [];
    const keep = (value: unknown, place: unknown): unknown => {
      seen.push([value, place]);
      return value;
    };
    expect(view('{"a": 1.10}', 'application/json', keep)).toMatchObject({ value: '{"a": 1.10}', isMasked: false });
    expect(seen).toEqual([[{ a: 1.1 }, PLACE]]);
    expect(view('hello', 'text/plain', keep)).toMatchObject({ format: 'text', value: 'hello', isMasked: false });
    expect(view(Buffer.from([0xff]), undefined, keep)).toMatchObject({ format: 'base64', isMasked: false });
  });

  test('what a function changes is masked, also if it changes the value itself', () => {
    const without = (value: unknown): unknown => {
      (value as { name: string }).name = '-';
      return value;
    };
    expect(view('{"name":"Ann"}', 'application/json', without)).toMatchObject({
      value: '{"name":"-"}',
      isMasked: true,
    });
    expect(view('Ann', 'text/plain', () => 'somebody')).toMatchObject({ format: 'text', value: 'somebody' });
    expect(view('1', 'application/json', () => ({ token: 's3cret' })).value).toBe('{"token":"***"}');
  });

  test.each([
    ['undefined', () => undefined],
    [
      'an exception',
      () => {
        throw new Error('no');
      },
    ],
    ['what has no JSON form', () => () => 1],
  ])('%s hides it', (_what, option) => {
    expect(view('{"name":"Ann"}', 'application/json', option)).toMatchObject({ format: 'hidden', value: '' });
  });
});
