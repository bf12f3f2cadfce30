import { Metadata, Server, ServerCredentials, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { grpcTransport } from '../../src/app/grpc-channel.ts';
import { decodeInvokeResponse, encodeInvokeRequest } from '../../src/app/grpc-messages.ts';
import { loadGrpc } from '../../src/app/grpc-module.ts';
import type { AppTransport } from '../../src/app/transport.ts';
import { request } from '../../src/http/message.ts';
import { type AppOptions, nodeHandler, Sidecar, type SidecarOptions } from '../../src/index.ts';
import { patientClock } from '../support/clock.ts';
import { type Listening, listen, send } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';

/** As another implementation of protocol buffers writes them. */
const REQUEST =
  '0a096f72646572732fc3bc120a12087b226964223a317d1a106170706c69636174696f6e2f6a736f6e220b08031207613d3126623d32';
const RESPONSE = '0a1b0a15747970652e676f6f676c65617069732e636f6d2f5412026869120a746578742f706c61696e';

interface Called {
  readonly message: Buffer;
  readonly metadata: Metadata;
  readonly cancelled: Promise<void>;
}
type Answer = { readonly body?: Buffer; readonly metadata?: Metadata } | Partial<ServiceError> | 'never';

/** A gRPC server that implements `AppCallback.OnInvoke` over bytes. */
class GrpcApp implements AsyncDisposable {
  readonly calls: Called[] = [];
  port = 0;
  readonly #server = new Server({ 'grpc.max_receive_message_length': -1 });

  static async start(
    answer: (call: Called) => Answer = () => ({ body: Buffer.from(RESPONSE, 'hex') }),
    port = 0,
  ): Promise<GrpcApp> {
    const app = new GrpcApp();
    const bytes = (value: Buffer): Buffer => value;
    const path = '/dapr.proto.runtime.v1.AppCallback/OnInvoke';
    const codec = {
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    app.#server.addService(
      { onInvoke: { path, requestStream: false, responseStream: false, ...codec } },
      {
        onInvoke: (
          call: {
            request: Buffer;
            metadata: Metadata;
            on: (event: string, listener: () => void) => void;
            sendMetadata: (metadata: Metadata) => void;
          },
          done: (error: Partial<ServiceError> | null, value?: Buffer) => void,
        ) => {
          const cancelled = new Promise<void>((resolve) => call.on('cancelled', resolve));
          const called = { message: call.request, metadata: call.metadata, cancelled };
          app.calls.push(called);
          const answered = answer(called);
          if (answered === 'never') return;
          if ('code' in answered) return done(answered);
          if ('metadata' in answered && answered.metadata !== undefined) call.sendMetadata(answered.metadata);
          done(null, 'body' in answered && answered.body !== undefined ? answered.body : Buffer.alloc(0));
        },
      },
    );
    app.port = await new Promise<number>((resolve, reject) => {
      app.#server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return app;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
  }
}

async function open(app: GrpcApp): Promise<AppTransport & AsyncDisposable> {
  const transport = grpcTransport(app.port, '127.0.0.1');
  return { ...transport, [Symbol.asyncDispose]: () => transport.close() };
}

describe('the messages', () => {
  test('are those of another implementation', () => {
    const encoded = encodeInvokeRequest({
      method: 'orders/ü',
      data: Buffer.from('{"id":1}'),
      contentType: 'application/json',
      verb: 'POST',
      queryString: 'a=1&b=2',
    });
    expect(encoded.toString('hex')).toBe(REQUEST);
    const decoded = decodeInvokeResponse(Buffer.from(RESPONSE, 'hex'));
    expect([Buffer.from(decoded.data).toString(), decoded.contentType]).toEqual(['hi', 'text/plain']);
  });

  test.each([
    ['an empty message', '', ''],
    [
      'fields that are not known',
      '7a0161' + '8001' + '01' + '6500000000' + '590000000000000000' + '0a041202' + '6869',
      'hi',
    ],
    ['the last of a field that came twice', '0a0312016' + '10a03120162', 'b'],
  ])('%s', (_, hex, data) => {
    expect(Buffer.from(decodeInvokeResponse(Buffer.from(hex, 'hex')).data).toString()).toBe(data);
  });

  test.each([
    ['a length beyond the end', '0a05'],
    ['a number without an end', 'ffffffffffffffffffffff01'],
    ['half a tag', '80'],
    ['a group', '0b'],
    ['an Any that is cut off', '0a0212ff'],
  ])('%s is refused', (_, hex) => {
    expect(() => decodeInvokeResponse(Buffer.from(hex, 'hex'))).toThrow('the message');
  });
});

describe('a call of a gRPC application', () => {
  test('carries method, body, content type, verb, query, and headers as metadata; the answer has data and content type', async () => {
    const metadata = new Metadata();
    metadata.add('x-reply', '2');
    await using app = await GrpcApp.start(() => ({ body: Buffer.from(RESPONSE, 'hex'), metadata }));
    await using transport = await open(app);
    const headers = {
      'content-type': 'application/json',
      'X-Asked': '1',
      'x-many': ['a', 'b'],
      'x-umlaut': 'ü',
      'x-data-bin': 'AA==',
      'grpc-timeout': '1S',
      te: 'trailers',
      connection: 'close',
      host: 'elsewhere',
      'content-length': '8',
    };
    const response = await transport.handle(
      request('POST', '/orders/ü?a=1&b=2', { headers, body: Buffer.from('{"id":1}') }),
    );
    expect(app.calls[0]?.message.toString('hex')).toBe(REQUEST);
    const received = app.calls[0]?.metadata.getMap() ?? {};
    expect(Object.keys(received).sort()).toEqual(['user-agent', 'x-asked', 'x-many']);
    expect(app.calls[0]?.metadata.get('x-many')).toEqual(['a, b']);
    expect(response).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain', 'x-reply': '2' } });
    expect(Buffer.from(response.body as Uint8Array).toString()).toBe('hi');
  });

  test('takes a streamed body, and an answer of megabytes', async () => {
    const bytes = Buffer.alloc(6_000_000, 1);
    const any = Buffer.concat([Buffer.from([0x12, 0x80, 0x9b, 0xee, 0x02]), bytes]);
    const reply = Buffer.concat([Buffer.from([0x0a, 0x85, 0x9b, 0xee, 0x02]), any]);
    await using app = await GrpcApp.start(() => ({ body: reply }));
    await using transport = await open(app);
    async function* body(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 3_000_000);
      yield bytes.subarray(3_000_000);
    }
    const response = await transport.handle(request('PUT', '/big', { body: body() }));
    expect((app.calls[0]?.message.length ?? 0) > 6_000_000).toBe(true);
    expect(bytes.equals(response.body as Uint8Array)).toBe(true);
    await expect(transport.handle(request('PUT', '/', { body: Buffer.alloc(17_000_000) }))).rejects.toMatchObject({
      code: 'ERR_BODY_TOO_LARGE',
    });
  });

  test.each<[name: keyof typeof status, details: string]>([
    ['INVALID_ARGUMENT', 'no such order'],
    ['UNAUTHENTICATED', ''],
    ['NOT_FOUND', 'x'.repeat(5_000)],
  ])('status %s becomes ERR_DIRECT_INVOKE, with the status in its message', async (name, details) => {
    await using app = await GrpcApp.start(() => ({ code: status[name] as status, details }));
    await using transport = await open(app);
    const error = await transport.handle(request('GET', '/')).then(
      () => expect.fail('answered'),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'ERR_DIRECT_INVOKE', status: 500 });
    expect(error.message).toContain(`status ${name} (${status[name]}): ${details.slice(0, 500)}`);
    expect(error.message.length).toBeLessThan(600);
  });

  test('an answer that is no such message is an error too', async () => {
    await using app = await GrpcApp.start(() => ({ body: Buffer.from('0a05', 'hex') }));
    await using transport = await open(app);
    await expect(transport.handle(request('GET', '/'))).rejects.toMatchObject({ code: 'ERR_DIRECT_INVOKE' });
  });

  test('a caller that goes away cancels it', async () => {
    const caller = new AbortController();
    await using app = await GrpcApp.start((call) => {
      queueMicrotask(() => caller.abort(new Error('gone')));
      void call;
      return 'never';
    });
    await using transport = await open(app);
    await expect(transport.handle(request('GET', '/', { signal: caller.signal }))).rejects.toThrow('gone');
    await app.calls[0]?.cancelled;
    await expect(transport.handle(request('GET', '/', { signal: caller.signal }))).rejects.toThrow('gone');
    expect(app.calls).toHaveLength(1);
  });

  test('closing breaks off what is still running', async () => {
    await using app = await GrpcApp.start(() => 'never');
    const transport = grpcTransport(app.port, '127.0.0.1');
    const running = transport.handle(request('GET', '/'));
    running.catch(() => undefined);
    await expect.poll(() => app.calls.length).toBe(1);
    await transport.close();
    await expect(running).rejects.toThrow('CANCELLED (1)');
    await app.calls[0]?.cancelled;
  });

  test('an application that is back after a restart is called again, without waiting for minutes', async () => {
    const first = await GrpcApp.start();
    await using transport = await open(first);
    await transport.handle(request('GET', '/'));
    const { port } = first;
    await first[Symbol.asyncDispose]();
    expect(await transport.isReachable()).toBe(false);
    await expect(transport.handle(request('GET', '/'))).rejects.toThrow('UNAVAILABLE (14)');
    await using again = await GrpcApp.start(undefined, port);
    expect(await transport.isReachable()).toBe(true);
    await expect.poll(async () => (await transport.handle(request('GET', '/'))).status).toBe(200);
    expect(again.calls.length).toBeGreaterThan(0);
  });

  test('without the package, what to install is said before anything is called', async () => {
    const transport = grpcTransport(1, '127.0.0.1', () => loadGrpc('@grpc/not-there'));
    await expect(transport.open?.()).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION',
      message: 'options.app.protocol "grpc" needs the package @grpc/not-there: run "npm install @grpc/not-there@1".',
    });
    await transport.close();
  });
});

interface Running extends AsyncDisposable {
  readonly sidecar: Sidecar;
  readonly server: Listening;
  readonly logger: RecordingLogger;
}

async function start(port: number, options: SidecarOptions = {}): Promise<Running> {
  const logger = new RecordingLogger();
  const clock = patientClock();
  const sidecar = new Sidecar({ appId: 'shop', app: { port, protocol: 'grpc' }, clock, logger, ...options });
  const server = await listen(nodeHandler(sidecar));
  await sidecar.start();
  return {
    sidecar,
    server,
    logger,
    [Symbol.asyncDispose]: async () => {
      await sidecar.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('a sidecar of a gRPC application', () => {
  test('invokes it over HTTP: 200 with the answer', async () => {
    await using app = await GrpcApp.start();
    await using running = await start(app.port, { appToken: 'known' });
    const answer = await send(running.server.url, 'POST', '/v1.0/invoke/shop/method/orders', { body: '{"id":1}' });
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([200, 'text/plain', 'hi']);
    expect(app.calls[0]?.metadata.get('sidecar-api-token')).toEqual(['known']);
  });

  test('answers 500 with the gRPC status for its errors', async () => {
    await using app = await GrpcApp.start(() => ({ code: status.NOT_FOUND, details: 'no order 7' }));
    await using running = await start(app.port);
    const answer = await send(running.server.url, 'GET', '/v1.0/invoke/shop/method/orders/7');
    expect(answer.status).toBe(500);
    expect(answer.json['errorCode']).toBe('ERR_DIRECT_INVOKE');
    expect(answer.json['message']).toContain('NOT_FOUND (5): no order 7');
  });

  test('never asks it for subscriptions, and says so', async () => {
    await using app = await GrpcApp.start();
    await using running = await start(app.port);
    await running.sidecar.ready();
    expect(app.calls).toEqual([]);
    expect(running.logger.at('warn').map(({ message }) => message)).toContainEqual(
      expect.stringContaining('invocations only'),
    );
    const metadata = await send(running.server.url, 'GET', '/v1.0/metadata');
    expect(metadata.json).toMatchObject({
      appConnectionProperties: { protocol: 'grpc', port: app.port },
    });
  });

  test('takes it for well while its port takes connections', async () => {
    const app = await GrpcApp.start();
    const clock = patientClock();
    await using running = await start(app.port, {
      clock,
      app: { port: app.port, protocol: 'grpc', health: { interval: 1_000, timeout: 500, threshold: 2 } },
    });
    await running.sidecar.ready();
    await app[Symbol.asyncDispose]();
    let reason: string | undefined;
    running.sidecar.events.on('appUnhealthy', (info) => {
      reason = info.reason;
    });
    for (let probe = 0; probe < 5 && reason === undefined; probe++) {
      await clock.advance('1s');
      await clock.settled();
    }
    expect(reason).toContain('it takes no connection');
    expect(app.calls).toEqual([]);
  });

  test.each<[what: string, options: SidecarOptions, message: string]>([
    [
      'subscriptions to its routes',
      { app: { port: 1, protocol: 'grpc' }, subscriptions: [{ pubsubName: 'p', topic: 't', route: '/t' }] },
      'options.subscriptions need an HTTP application',
    ],
    [
      'an application in this process',
      { app: { fetch: () => new Response(), protocol: 'grpc' } as unknown as AppOptions },
      'needs options.app.port',
    ],
    [
      'another protocol',
      { app: { port: 1, protocol: 'h2c' } as unknown as AppOptions },
      'options.app.protocol must be "http" or "grpc": actual is "h2c"',
    ],
  ])('is refused with %s', (_, options, message) => {
    expect(() => new Sidecar({ appId: 'shop', ...options })).toThrow(message);
  });
});
