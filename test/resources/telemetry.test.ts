import { expect, test } from 'vitest';
import { findingsOf, load, problemsOf } from './files.ts';

const configuration = (spec: string): string =>
  `apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: config}\nspec:\n  ${spec}\n`;

test('tracing and metrics are read, with the defaults of Dapr', async () => {
  const { telemetry } = await load(
    configuration('tracing: {otel: {endpointAddress: "a:4317"}}\n  metrics: {latencyDistributionBuckets: [5, 50]}'),
  );
  expect(telemetry).toEqual({
    tracing: {
      samplingRatio: 0.0001,
      prints: false,
      collector: { url: 'https://a:4317', protocol: 'grpc', headers: {}, timeoutMs: 10_000 },
    },
    metrics: { isEnabled: true, bucketsMs: [5, 50] },
  });
});

test.each([
  ['{endpointAddress: "a:4318", isSecure: false, protocol: http}', 'http://a:4318/v1/traces'],
  ['{endpointAddress: "https://a/", protocol: http}', 'https://a/v1/traces'],
  ['{endpointAddress: "a:4317", isSecure: false, protocol: grpc}', 'http://a:4317'],
])('a collector %s is at %s', async (otel, url) => {
  const { telemetry } = await load(configuration(`tracing: {otel: ${otel}}`));
  expect(telemetry?.tracing?.collector?.url).toBe(url);
});

test('fields for the collector are pairs, separated by commas', async () => {
  const otel = '{endpointAddress: a, headers: "X-Team=shop, key=a=b,none", timeout: 500}';
  const { telemetry } = await load(configuration(`tracing: {otel: ${otel}}`));
  expect(telemetry?.tracing?.collector).toMatchObject({
    headers: { 'x-team': 'shop', key: 'a=b' },
    timeoutMs: 500,
  });
});

test.each([
  ['tracing: {samplingRate: "2"}', /^a\.yaml:5:27 .*samplingRate is "2": expected a number from 0 to 1$/],
  ['tracing: {samplingRate: often}', /^a\.yaml:5:27 .*samplingRate is "often": expected a number from 0 to 1$/],
  ['tracing: {otel: {protocol: udp}}', /spec\.tracing\.otel\.protocol/],
  ['metrics: {latencyDistributionBuckets: [5, 5]}', /latencyDistributionBuckets must be ascending$/],
  [
    'metrics: {workflow: {latencyDistributionBuckets: [2, 1]}}',
    /workflow\.latencyDistributionBuckets must be ascending$/,
  ],
])('%s is refused', async (spec, expected) => {
  expect(await problemsOf(configuration(spec))).toEqual([expect.stringMatching(expected)]);
});

test('values of fields for the collector are not shown', async () => {
  const [problem] = await problemsOf(configuration('tracing: {otel: {endpointAddress: a, headers: [hidden]}}'));
  expect(problem).toContain('headers');
  expect(problem).not.toContain('hidden');
});

test('parts that have no effect are noted, and that a program has to apply the rest itself', async () => {
  const yaml = configuration(
    'tracing: {samplingRate: "1", zipkin: {endpointAddress: "http://z"}}\n  metric: {rules: [], http: {}, recordErrorCodes: true}',
  );
  const applied = await findingsOf({ 'a.yaml': yaml }, { appliesTelemetry: true });
  expect(applied.notes).toEqual([
    'a.yaml:5:32 (document 1): spec.tracing.zipkin has no use here: send OTLP, which Zipkin and collectors take (spec.tracing.otel)',
    'a.yaml:6:12 (document 1): spec.metric.rules has no use here: change labels in Prometheus',
    'a.yaml:6:23 (document 1): spec.metric.http has no use here: the metrics have routes, not paths',
    'a.yaml:6:33 (document 1): spec.metric.recordErrorCodes has no use here: error.type is always recorded',
  ]);
  const inCode = await findingsOf({ 'a.yaml': yaml });
  expect(inCode.notes).toContain(
    'a.yaml:5:3 (document 1): spec.tracing is applied by the command only: in code, pass openTelemetry() of insidecar/otel to the sidecar',
  );
});
