import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { loadPackages } from '../../src/cli/otel-packages.ts';
import { freePort, listen, send } from '../support/http.ts';
import { PATIENCE, program, startCli, temporaryDirectory, untilSaid } from './cli.ts';

/** Publishes a message that it is then asked to take, and stays. */
const PUBLISHES = `
  import { createServer } from 'node:http';
  createServer((req, res) => {
    const subscriptions = [{ pubsubname: 'pubsub', topic: 'orders', route: '/orders' }];
    if (req.url === '/dapr/subscribe') return res.end(JSON.stringify(subscriptions));
    res.writeHead(req.url === '/orders' ? 500 : 404).end();
  }).listen(process.env.APP_PORT, async () => {
    const api = 'http://127.0.0.1:' + process.env.DAPR_HTTP_PORT;
    while ((await fetch(api + '/v1.0/healthz')).status !== 204) await new Promise((next) => setTimeout(next, 50));
    await fetch(api + '/v1.0/publish/pubsub/orders', { method: 'POST', body: '1' });
    console.log('published');
  });
`;

interface Started {
  readonly flags?: readonly string[];
  /** `spec` of a Configuration. */
  readonly spec?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Runs the program until it has published and failed to take the message. */
async function started({ flags = [], spec, env = {} }: Started): Promise<ReturnType<typeof startCli>> {
  const config: string[] = [];
  if (spec !== undefined) {
    const file = join(await temporaryDirectory(), 'config.yaml');
    const head = 'apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: config}\nspec:\n';
    await writeFile(file, head + spec.replaceAll(/^/gm, '  '));
    config.push('--config', file);
  }
  const ports = ['--http-port', String(await freePort()), '--app-port', String(await freePort())];
  const args = ['run', '--app-id', 'orders', ...ports, ...config, ...flags, '--', ...program(PUBLISHES)];
  const cli = startCli(args, { env });
  await untilSaid(cli.stdout, /published/);
  await untilSaid(cli.stderr, /message will be delivered again/);
  return cli;
}

/** A collector that takes OTLP over HTTP: what it was sent, as text. */
async function collector(): Promise<{ url: string; received: () => string; headers: () => unknown }> {
  let received = '';
  let headers: unknown;
  const server = await listen((req, res) => {
    if (req.url !== '/v1/traces') return void res.writeHead(404).end();
    headers = req.headers;
    req.on('data', (part: Buffer) => {
      received += part.toString('latin1');
    });
    req.on('end', () => res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { url: server.url, received: () => received, headers: () => headers };
}

test('--metrics-port serves what happens to Prometheus', async () => {
  const port = await freePort();
  await started({ flags: ['--metrics-port', String(port)] });
  const metrics = async (): Promise<string> => (await send(`http://127.0.0.1:${port}`, 'GET', '/metrics')).text;
  await expect.poll(metrics, PATIENCE).toMatch(/^messaging_client_consumed_messages_total\{.*retrying/m);
  expect(await metrics()).toMatch(/^messaging_client_sent_messages_total\{insidecar_app_id="orders",.*\} 1$/m);
});

test('spec.metrics sets the bounds of histograms, in milliseconds; those of workflows by themselves', async () => {
  const port = await freePort();
  const spec = 'metrics: {latencyDistributionBuckets: [7, 70], workflow: {latencyDistributionBuckets: [9]}}';
  await started({ flags: ['--metrics-port', String(port)], spec });
  const metrics = async (): Promise<string> => (await send(`http://127.0.0.1:${port}`, 'GET', '/metrics')).text;
  await expect.poll(metrics, PATIENCE).toMatch(/^messaging_process_duration_bucket/m);
  const bounds = [...(await metrics()).matchAll(/^messaging_process_duration_bucket\{.*le="([^"]+)"/gm)];
  expect([...new Set(bounds.map(([, bound]) => bound))]).toEqual(['0.007', '0.07', '+Inf']);
});

test.each([
  ['metrics: {enabled: false}', []],
  ['metrics: {}', ['--enable-metrics=false']],
])('%s and %s serve no metrics', async (spec, flags) => {
  const port = await freePort();
  await started({ flags: ['--metrics-port', String(port), ...flags], spec });
  await expect(send(`http://127.0.0.1:${port}`, 'GET', '/metrics')).rejects.toThrow('ECONNREFUSED');
});

test('spec.tracing sends spans to a collector over HTTP, the last ones when the run ends', async () => {
  const { url, received, headers } = await collector();
  const otel = `{endpointAddress: "${new URL(url).host}", isSecure: false, protocol: http, headers: "x-team=shop"}`;
  const cli = await started({ spec: `tracing: {samplingRate: "1", otel: ${otel}}` });
  cli.child.kill('SIGTERM');
  await cli.ended;
  expect(received()).toMatch(/service\.name.*orders/s);
  expect(received()).toMatch(/publish orders.*process orders|process orders.*publish orders/s);
  expect(headers()).toMatchObject({ 'x-team': 'shop' });
});

test('spec.tracing sends spans to a collector over gRPC', async () => {
  let received = '';
  let team: unknown;
  const server = new Server();
  const bytes = (value: Buffer): Buffer => value;
  server.addService(
    {
      export: {
        path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    {
      export: (
        call: { request: Buffer; metadata: { get(name: string): unknown[] } },
        answer: (error: null, value: Buffer) => void,
      ) => {
        received += call.request.toString('latin1');
        [team] = call.metadata.get('x-team');
        answer(null, Buffer.alloc(0));
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  const otel = `{endpointAddress: "127.0.0.1:${port}", isSecure: false, headers: "x-team=shop"}`;
  const cli = await started({ spec: `tracing: {samplingRate: "1", otel: ${otel}}` });
  cli.child.kill('SIGTERM');
  await cli.ended;
  expect(received).toContain('publish orders');
  expect(team).toBe('shop');
});

test('OTEL_EXPORTER_OTLP_ENDPOINT alone traces everything; samplingRate 0 nothing', async () => {
  const all = await collector();
  const cli = await started({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: all.url } });
  cli.child.kill('SIGTERM');
  await cli.ended;
  expect(all.received()).toContain('publish orders');

  const none = await collector();
  const spec = 'tracing: {samplingRate: "0"}';
  const silent = await started({ spec, env: { OTEL_EXPORTER_OTLP_ENDPOINT: none.url } });
  silent.child.kill('SIGTERM');
  await silent.ended;
  expect(none.received()).toBe('');
});

test('spec.tracing.stdout prints spans; lines of the JSON log name the span that they belong to', async () => {
  const cli = await started({ spec: 'tracing: {samplingRate: "1", stdout: true}', flags: ['--log-json'] });
  await untilSaid(cli.stdout, /name: 'process orders'/);
  await untilSaid(cli.stderr, /message will be delivered again/);
  const line = cli
    .stderr()
    .split('\n')
    .find((text) => text.includes('message will be delivered again'));
  const { trace_id: traceId, span_id: spanId, trace_flags: flags } = JSON.parse(line ?? '{}') as Record<string, string>;
  expect(cli.stdout()).toMatch(
    new RegExp(`traceId: '${traceId}'(?:(?!resource:)[^])*name: 'process orders',\\s*id: '${spanId}'`),
  );
  expect(flags).toBe('01');
});

test('packages that are missing are named, with the command that installs them', async () => {
  const names = ['@opentelemetry/none', '@opentelemetry/api', '@opentelemetry/nothing'] as const;
  await expect(loadPackages('--metrics-port', [...names])).rejects.toThrow(
    '--metrics-port needs packages that are not installed: run "npm install @opentelemetry/none@latest @opentelemetry/nothing@latest"',
  );
});
