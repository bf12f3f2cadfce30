import { describe, expect, test } from 'vitest';
import { cronBinding } from '../../src/index.ts';
import { BindingError } from '../../src/kit/index.ts';
import { bindingsWorld, OwnBinding } from '../support/bindings-world.ts';
import { until, WIRES } from '../support/stores-world.ts';

const codeOf = (text: string): unknown => (JSON.parse(text) as { readonly errorCode: unknown }).errorCode;
const messageOf = (text: string): string => (JSON.parse(text) as { readonly message: string }).message;
const textOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

describe.each(WIRES)('output bindings, wire %s', (wire) => {
  test('hands operation, data and metadata over, data as they were written', async () => {
    const own = new OwnBinding();
    await using world = await bindingsWorld({ wire, components: [own.definition('out')] });
    const body =
      '{"operation":"create","data":{"n":12345678901234567890.10},"metadata":{"ttlInSeconds":"5","__proto__":"x"}}';
    expect(await world.invoke('out', body)).toMatchObject({ status: 204, text: '' });
    const [call] = own.calls;
    expect(textOf(call?.data)).toBe('{"n":12345678901234567890.10}');
    expect(Object.entries(call?.metadata ?? {})).toEqual([
      ['ttlInSeconds', '5'],
      ['__proto__', 'x'],
    ]);
    expect(call?.operation).toBe('create');
  });

  test.each(['POST', 'PUT'])('%s; data are null if absent, and null metadata are none', async (method) => {
    const own = new OwnBinding();
    await using world = await bindingsWorld({ wire, components: [own.definition('out')] });
    const body = { operation: 'get', metadata: null };
    expect((await world.send(method, '/v1.0/bindings/out', { body })).status).toBe(204);
    expect(own.calls.map(({ data, metadata }) => [textOf(data), { ...metadata }])).toEqual([['null', {}]]);
  });

  test('answers data with metadata as headers; an answer without data has an empty body', async () => {
    const own = new OwnBinding();
    await using world = await bindingsWorld({ wire, components: [own.definition('out')] });
    own.answer = () => ({
      data: Buffer.from('[1]'),
      metadata: { 'rows-affected': '1', Name: 'Zoë', 'no header': 'x' },
    });
    const answer = await world.invoke('out', { operation: 'get' });
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([200, '[1]', 'application/json']);
    expect(answer.headers['metadata.rows-affected']).toBe('1');
    expect(answer.headers['metadata.name']).toBe('Zo%C3%AB');
    own.answer = () => ({ metadata: { operation: 'exec' } });
    const empty = await world.invoke('out', { operation: 'get' });
    expect([empty.status, empty.text, empty.headers['metadata.operation']]).toEqual([200, '', 'exec']);
  });

  test('names are decoded once: one with a slash is found', async () => {
    const own = new OwnBinding();
    await using world = await bindingsWorld({ wire, components: [own.definition('a/b+%')] });
    expect((await world.invoke('a%2Fb+%25', { operation: 'create' })).status).toBe(204);
    expect((await world.invoke('a/b', { operation: 'create' })).status).toBe(404);
  });

  test.each([
    ['no JSON', '{"operation"', 'ERR_MALFORMED_REQUEST', 400],
    ['an array', '[]', 'ERR_MALFORMED_REQUEST', 400],
    ['null', 'null', 'ERR_MALFORMED_REQUEST', 400],
    ['an empty body', '', 'ERR_MALFORMED_REQUEST', 400],
    ['an operation that is a number', '{"operation":1}', 'ERR_MALFORMED_REQUEST', 400],
    ['metadata that are a list', '{"operation":"get","metadata":[]}', 'ERR_MALFORMED_REQUEST', 400],
    ['a number in metadata', '{"operation":"get","metadata":{"a":1}}', 'ERR_MALFORMED_REQUEST', 400],
    ['no operation', '{}', 'ERR_INVOKE_OUTPUT_BINDING', 500],
    ['an empty operation', '{"operation":""}', 'ERR_INVOKE_OUTPUT_BINDING', 500],
    ['an operation in another case', '{"operation":"GET"}', 'ERR_INVOKE_OUTPUT_BINDING', 500],
  ])('refuses %s', async (_what, body, code, status) => {
    const own = new OwnBinding();
    await using world = await bindingsWorld({ wire, components: [own.definition('out')] });
    const answer = await world.invoke('out', body);
    expect([answer.status, codeOf(answer.text)]).toEqual([status, code]);
    if (status === 500) expect(messageOf(answer.text)).toContain('expected create, get');
    expect(own.calls).toEqual([]);
  });

  test('refuses unknown names, inputs only, and bodies over the limit', async () => {
    const own = new OwnBinding();
    const components = [
      cronBinding('tick', { schedule: '@every 1h' }),
      own.definition('in', { options: { direction: ['input'] } }),
      own.definition('theirs', { scopes: ['another'] }),
    ];
    await using world = await bindingsWorld({ wire, components, bodyLimitBytes: 100 });
    for (const name of ['nothing', 'tick', 'in', 'theirs', '__proto__']) {
      const { status, text } = await world.invoke(name, { operation: 'create' });
      expect([name, status, codeOf(text)]).toEqual([name, 500, 'ERR_INVOKE_OUTPUT_BINDING']);
    }
    const large = await world.invoke('in', { operation: 'create', data: 'x'.repeat(100) });
    expect([large.status, codeOf(large.text)]).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test('a failure is 500 with the metadata of the binding', async () => {
    const own = new OwnBinding();
    await using world = await bindingsWorld({ wire, components: [own.definition('out')] });
    own.answer = () => Promise.reject(new BindingError('the target answered 404', { statusCode: '404' }));
    const { status, text, headers } = await world.invoke('out', { operation: 'get' });
    expect([status, codeOf(text), headers['metadata.statuscode']]).toEqual([500, 'ERR_INVOKE_OUTPUT_BINDING', '404']);
    expect(messageOf(text)).toBe('error invoking output binding out: the target answered 404');
  });

  test('a policy retries calls', async () => {
    const own = new OwnBinding();
    const resiliency = {
      policies: { retries: { again: { policy: 'constant', duration: '1s', maxRetries: 2 } } },
      targets: { components: { out: { outbound: { retry: 'again' } } } },
    } as const;
    await using world = await bindingsWorld({ wire, components: [own.definition('out')], resiliency });
    own.answer = () => (own.calls.length < 3 ? Promise.reject(new Error('not yet')) : { data: Buffer.from('1') });
    const answered = world.invoke('out', { operation: 'get' });
    await until(
      async () => {
        await world.pass('1s');
        return own.calls.length === 3;
      },
      () => `${own.calls.length} calls`,
    );
    expect(await answered).toMatchObject({ status: 200, text: '1' });
  });

  test('capabilities follow type and direction; api lists name the block; a failure shows in health', async () => {
    const own = new OwnBinding();
    const components = [
      own.definition('both'),
      own.definition('in', { options: { direction: ['input'] } }),
      own.definition('out', { options: { direction: ['output'] } }),
    ];
    await using world = await bindingsWorld({ wire, components });
    expect((await world.metadata()).map(({ name, capabilities }) => [name, capabilities])).toEqual([
      ['both', ['INPUT_BINDING', 'OUTPUT_BINDING']],
      ['in', ['INPUT_BINDING']],
      ['out', ['OUTPUT_BINDING']],
    ]);
    expect((await world.send('GET', '/v1.0/healthz/outbound')).status).toBe(204);
    own.failure = new Error('the outside is down');
    expect((await world.send('GET', '/v1.0/healthz/outbound')).status).toBe(500);
    await using closed = await bindingsWorld({ wire, components, api: { denied: [{ name: 'bindings' }] } });
    expect((await closed.invoke('out', { operation: 'get' })).status).toBe(404);
  });
});

test('in code: any JSON, metadata and the answer in three forms', async () => {
  const own = new OwnBinding();
  await using world = await bindingsWorld({ components: [own.definition('out')] });
  own.answer = () => ({ data: Buffer.from('{"id":1}'), metadata: { a: 'b' } });
  const { bindings } = world.sidecar;
  const reply = await bindings.invoke('out', { operation: 'create', data: { at: new Date(0) }, metadata: { k: 'v' } });
  expect([reply.json(), reply.text(), reply.bytes.length, reply.metadata['a']]).toEqual([
    { id: 1 },
    '{"id":1}',
    8,
    'b',
  ]);
  expect(textOf(own.calls[0]?.data)).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  own.answer = () => undefined;
  const nothing = await bindings.invoke('out', { operation: 'create' });
  expect([nothing.json(), nothing.text(), textOf(own.calls[1]?.data)]).toEqual([undefined, '', 'null']);
});

test('in code: an abort reaches the binding', async () => {
  const own = new OwnBinding();
  await using world = await bindingsWorld({ components: [own.definition('out')] });
  own.answer = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const abort = new AbortController();
  const called = world.sidecar.bindings.invoke('out', { operation: 'create', signal: abort.signal });
  abort.abort(new Error('no longer wanted'));
  await expect(called).rejects.toThrow('no longer wanted');
});

test('bindings are closed once', async () => {
  const own = new OwnBinding();
  const world = await bindingsWorld({ components: [own.definition('out')] });
  await world[Symbol.asyncDispose]();
  expect(own.isClosed).toBe(true);
  await expect(world.sidecar.bindings.invoke('out', { operation: 'create' })).rejects.toMatchObject({
    code: 'ERR_SHUTTING_DOWN',
  });
});
