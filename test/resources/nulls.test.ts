import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadMultiApp } from '../../src/resources/index.ts';
import { directoryWith, findingsOf, load } from './files.ts';

/** Every field that may be left out, as editors and generators leave it: a key without a value. */
const RESOURCES: Readonly<Record<string, string>> = {
  Component: `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: events
  namespace:
  labels:
  annotations:
spec:
  type: pubsub.in-memory
  version:
  ignoreErrors:
  initTimeout:
  metadata:
auth:
scopes:
`,
  'Component with values': `apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: events}
spec:
  type: pubsub.in-memory
  metadata:
  - name: allowedTopics
    value:
    secretKeyRef:
    envRef:
  - name: maxMessages
    value: 5
    secretKeyRef: {name: , key: }
auth: {secretStore: }
`,
  Subscription: `apiVersion: dapr.io/v1alpha1
kind: Subscription
metadata: {name: a}
spec:
  pubsubname: events
  topic: orders
  route: /orders
  metadata:
  deadLetterTopic:
  bulkSubscribe:
scopes:
`,
  'Subscription v2': `apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata: {name: a}
spec:
  pubsubname: events
  topic: orders
  routes:
    rules:
    default: /orders
  metadata: {rawPayload: }
  bulkSubscribe: {enabled: , maxMessagesCount: , maxAwaitDurationMs: }
`,
  HTTPEndpoint: `apiVersion: dapr.io/v1alpha1
kind: HTTPEndpoint
metadata: {name: a}
spec:
  baseUrl: http://example.com
  headers:
  clientTLS: {rootCA: , certificate: , privateKey: , renegotiation: }
auth:
scopes:
`,
  Configuration: `apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata: {name: a}
spec:
  accessControl: {defaultAction: allow, trustDomain: , policies: }
  api: {allowed: , denied: }
  nameResolution: {component: dns, version: , configuration: {template: "{appId}", port: 3500}}
  features:
  tracing: {samplingRate: , stdout: , otel: , zipkin: }
  metrics: {enabled: , latencyDistributionBuckets: , rules: , http: , recordErrorCodes: , workflow: }
  metric:
  mtls:
  secrets:
  components:
  httpPipeline:
  appHttpPipeline:
  logging:
  wasm:
  workflow:
`,
  'Configuration without anything': 'apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: a}\nspec:\n',
  Resiliency: `apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: a}
spec:
  policies:
    timeouts:
    retries: {some: {policy: , duration: , maxInterval: , maxRetries: , matching: }}
    circuitBreakers: {some: {maxRequests: , interval: , timeout: , trip: }}
  targets:
    apps: {other: {timeout: , retry: some, circuitBreaker: , circuitBreakerCacheSize: }}
    components: {events: {inbound: , outbound: {retry: some, timeout: }}}
    actors:
scopes:
`,
  'Resiliency without anything': 'apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata: {name: a}\nspec:\n',
};

describe('a key without a value counts as absent', () => {
  test.each(Object.entries(RESOURCES))('in a %s', async (_, yaml) => {
    expect((await findingsOf({ 'a.yaml': yaml })).problems).toEqual([]);
  });

  test('a section of a Configuration without a value is not even noted', async () => {
    expect((await findingsOf({ 'a.yaml': RESOURCES['Configuration'] ?? '' })).notes).not.toContainEqual(
      expect.stringContaining('spec.mtls'),
    );
  });

  test('what is required is missing', async () => {
    const { problems } = await findingsOf({
      'a.yaml': 'apiVersion: dapr.io/v1alpha1\nkind: Component\nmetadata: {name: }\nspec:\n',
    });
    expect(problems).toEqual([
      'a.yaml:1:1 (document 1): spec is missing',
      'a.yaml:3:11 (document 1): metadata.name is missing',
    ]);
  });

  test('places behind it are right', async () => {
    const { problems } = await findingsOf({ 'a.yaml': `${RESOURCES['Component']}nope: 1\n` });
    expect(problems).toEqual(['a.yaml:16:1 (document 1): unknown field nope']);
  });

  test('an item of a list without a value is told: what it would be is not known', async () => {
    const { problems } = await findingsOf({
      'a.yaml': (RESOURCES['Component'] ?? '').replace('scopes:', 'scopes:\n-'),
    });
    expect(problems).toEqual([expect.stringContaining('scopes[0] must be string: actual is null')]);
  });

  test('the Resiliency that is left has its defaults', async () => {
    const { options } = await load(RESOURCES['Resiliency'] ?? '');
    expect(options.resiliency).toMatchObject({ policies: { retries: { some: {} } } });
  });

  test('in every field of a multi-app file', async () => {
    const at = await directoryWith({
      'dapr.yaml': `version: 1
name:
common:
  env:
  resourcesPath:
  resourcesPaths:
  appProtocol:
  logLevel:
  maxBodySize:
apps:
- appDirPath: one
  appID:
  appPort:
  appChannelAddress:
  daprHTTPPort:
  daprGRPCPort:
  command:
  env: {UNSET: , SET: x}
  appSSL:
  appMaxConcurrency:
  enableAppHealthCheck:
  appHealthCheckPath:
  appHealthProbeInterval:
  appHealthProbeTimeout:
  appHealthThreshold:
  appLogDestination:
  daprdLogDestination:
  configFilePath:
`,
      'one/app.js': '',
    });
    const { apps, notes } = await loadMultiApp(join(at, 'dapr.yaml'));
    expect(apps).toMatchObject([{ appId: 'one', command: [], env: { SET: 'x' }, appProtocol: 'http' }]);
    expect(Object.keys(apps[0]?.env ?? {})).toEqual(['SET']);
    expect(notes).toEqual([]);
  });
});
