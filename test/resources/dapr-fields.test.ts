import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { nodeHandler, Sidecar } from '../../src/index.ts';
import { loadMultiApp } from '../../src/resources/index.ts';
import { listen, send } from '../support/http.ts';
import { component, directoryWith, findingsOf, load } from './files.ts';

/** A field of Dapr's types, by its path below `spec`, and a value for it. */
type Field = readonly [path: string, value: unknown];

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  /** What every one of them has. */
  readonly spec: object;
  readonly fields: readonly Field[];
}

/** The content of a list of named values, each with one of its sources. */
const SECRET = { name: 'key', secretKeyRef: { name: 'KEY', key: 'KEY' } };

const POLICY = { timeout: 'a', retry: 'b', circuitBreaker: 'c' };
const POLICIES = { timeouts: { a: '5s' }, retries: { b: {} }, circuitBreakers: { c: {} } };

/** Every field that Dapr's Go types for these kinds have. */
const KINDS: Readonly<Record<string, Kind>> = {
  Component: {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'Component',
    spec: { type: 'pubsub.in-memory' },
    fields: [
      ['type', 'pubsub.in-memory'],
      ['version', 'v1'],
      ['ignoreErrors', true],
      ['initTimeout', '5s'],
      ['metadata', [{ name: 'allowedTopics', value: 'a' }]],
      ['metadata', [{ name: 'maxMessages', value: 5 }]],
      ['metadata', [{ name: 'consumerID', value: true }]],
      ['metadata', [{ name: 'allowedTopics', secretKeyRef: { name: 'KEY', key: 'KEY' } }]],
      ['metadata', [{ name: 'allowedTopics', envRef: 'KEY' }]],
      ['metadata', [{ name: 'allowedTopics', value: 'a', secretKeyRef: { name: '', key: '' }, envRef: '' }]],
      ['metadata', [{ name: 'allowedTopics', value: '', secretKeyRef: { name: 'KEY', key: '' } }]],
      ['metadata', [{ name: 'allowedTopics', value: '', secretKeyRef: { name: '', key: '' }, envRef: '' }]],
      ['metadata', []],
    ],
  },
  'Subscription, v1alpha1': {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'Subscription',
    spec: { pubsubname: 'events', topic: 'a', route: '/a' },
    fields: [
      ['pubsubname', 'events'],
      ['topic', 'a'],
      ['route', '/a'],
      ['metadata', { rawPayload: 'false' }],
      ['deadLetterTopic', 'dead'],
      ['deadLetterTopic', ''],
      ['bulkSubscribe', { enabled: true, maxMessagesCount: 5, maxAwaitDurationMs: 5 }],
    ],
  },
  'Subscription, v2alpha1': {
    apiVersion: 'dapr.io/v2alpha1',
    kind: 'Subscription',
    spec: { pubsubname: 'events', topic: 'a', routes: { default: '/a' } },
    fields: [
      ['routes', { rules: [{ match: 'event.type == "a"', path: '/a' }], default: '/b' }],
      ['routes', { rules: [{ path: '/a' }] }],
      ['routes', { rules: [], default: '/a' }],
      ['metadata', {}],
      ['deadLetterTopic', 'dead'],
      ['bulkSubscribe', { enabled: false }],
    ],
  },
  HTTPEndpoint: {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'HTTPEndpoint',
    spec: { baseUrl: 'http://example.com' },
    fields: [
      ['baseUrl', 'https://example.com'],
      ['version', 'v1'],
      ['headers', [{ name: 'accept', value: 'x' }, SECRET, { name: 'env', envRef: 'KEY' }]],
      ['headers', []],
      ['clientTLS', { rootCA: { value: 'a', secretKeyRef: { name: '', key: '' } } }],
      ['clientTLS', { certificate: { secretKeyRef: { name: 'KEY', key: 'KEY' } }, privateKey: { envRef: 'KEY' } }],
      ['clientTLS', { renegotiation: 'RenegotiateNever' }],
      ['clientTLS', {}],
    ],
  },
  Configuration: {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'Configuration',
    spec: {},
    fields: [
      ['httpPipeline', { handlers: [{ name: 'a', type: 'middleware.http.uppercase', version: 'v1', selector: {} }] }],
      ['appHttpPipeline', { handlers: [] }],
      ['tracing', { samplingRate: '1', stdout: true }],
      ['tracing', { samplingRate: '', zipkin: { endpointAddress: '' } }],
      ['tracing', { zipkin: { endpointAddress: 'http://localhost:9411/api/v2/spans' } }],
      ['tracing', { otel: { protocol: 'grpc', endpointAddress: 'localhost:4317', isSecure: false } }],
      ['tracing', { otel: { protocol: '', endpointAddress: '', isSecure: true } }],
      ['tracing', { otel: { endpointAddress: 'a:1', headers: ['a=b', 'c=d,e=f'], timeout: '10s' } }],
      ['tracing', { otel: { endpointAddress: 'a:1', headers: 'a=b,c=d', timeout: 500 } }],
      ['tracing', { otel: { endpointAddress: 'a:1', headers: [], timeout: '' } }],
      ['mtls', { enabled: true, workloadCertTTL: '24h', allowedClockSkew: '15m' }],
      ['mtls', { controlPlaneTrustDomain: 'a', sentryAddress: 'b', tokenValidators: [{ name: 'jwks', options: {} }] }],
      ['metric', { enabled: true, http: { increasedCardinality: true, pathMatching: ['/a'], excludeVerbs: true } }],
      ['metrics', { enabled: false, recordErrorCodes: true, rules: [{ name: 'a', labels: [] }] }],
      ['metrics', { latencyDistributionBuckets: [1, 2, 5] }],
      ['metrics', { latencyDistributionBuckets: [], rules: [] }],
      ['metrics', { workflow: { latencyDistributionBuckets: [] } }],
      ['secrets', { scopes: [{ storeName: 'a', defaultAccess: 'allow', allowedSecrets: [], deniedSecrets: ['b'] }] }],
      ['accessControl', { defaultAction: 'allow', trustDomain: 'public', policies: [] }],
      ['accessControl', { defaultAction: '', trustDomain: '', policies: [] }],
      [
        'accessControl.policies',
        [
          {
            appId: 'a',
            defaultAction: 'deny',
            trustDomain: 'public',
            namespace: 'default',
            operations: [{ name: '/a', httpVerb: ['POST'], action: 'allow' }],
          },
          { appId: 'b', trustDomain: 'public', namespace: 'default', defaultAction: '', operations: [] },
        ],
      ],
      ['nameResolution', { component: 'consul', version: 'v1', configuration: { client: { address: 'a' } } }],
      ['nameResolution', { component: 'mdns' }],
      ['nameResolution', { component: 'sqlite', configuration: { connectionString: 'a' } }],
      ['nameResolution', { component: 'kubernetes', configuration: {} }],
      ['nameResolution', { component: 'nameformat', configuration: { format: '{appid}:3500' } }],
      ['nameResolution', { component: '', version: '', configuration: {} }],
      ['features', [{ name: 'HotReload', enabled: true }, { name: 'Other' }]],
      ['features', []],
      ['api', { allowed: [{ name: 'state', version: 'v1', protocol: 'http' }], denied: [] }],
      ['api', { denied: [{ name: 'metadata', version: 'v1alpha1', protocol: 'grpc' }] }],
      ['components', { deny: ['bindings.smtp', 'state.redis/v1'] }],
      ['logging', { apiLogging: { enabled: true, obfuscateURLs: true, omitHealthChecks: true } }],
      ['wasm', { strictSandbox: true }],
      ['workflow', { maxConcurrentWorkflowInvocations: 5, maxConcurrentActivityInvocations: 5 }],
      ['workflow', { stateRetentionPolicy: { anyTerminal: '1h' }, activityConcurrencyLimits: [{ name: 'a' }] }],
    ],
  },
  Resiliency: {
    apiVersion: 'dapr.io/v1alpha1',
    kind: 'Resiliency',
    spec: { policies: POLICIES },
    fields: [
      ['policies.timeouts', { a: '5s', b: 500 }],
      ['policies.retries', { b: { policy: 'constant', duration: '5s', maxRetries: 3 } }],
      ['policies.retries', { b: { policy: 'exponential', maxInterval: '60s', maxRetries: -1 } }],
      ['policies.retries', { b: { policy: '', matching: { httpStatusCodes: '429,500-599', gRPCStatusCodes: '1,4' } } }],
      ['policies.circuitBreakers', { c: { maxRequests: 1, interval: '8s', timeout: '45s', trip: 'requests > 5' } }],
      ['policies.circuitBreakers', { c: { trip: '' } }],
      ['targets.apps', { other: { ...POLICY, circuitBreakerCacheSize: 100 } }],
      ['targets.apps', { other: { timeout: '', retry: '', circuitBreaker: '' } }],
      ['targets.components', { events: { inbound: POLICY, outbound: POLICY } }],
      ['targets.actors', { type: { ...POLICY, circuitBreakerScope: 'both', circuitBreakerCacheSize: 5 } }],
    ],
  },
};

/** The store that secrets of the table come from. */
const STORE = component('env', 'secretstores.local.env');

function withField(spec: object, [path, value]: Field): object {
  const [first = '', ...rest] = path.split('.');
  const inner = Object(spec)[first] ?? {};
  return { ...spec, [first]: rest.length === 0 ? value : withField(inner, [rest.join('.'), value]) };
}

function manifestOf({ apiVersion, kind, spec }: Kind, field: Field): object {
  const auth = ['Component', 'HTTPEndpoint'].includes(kind) ? { auth: { secretStore: 'env' } } : {};
  const scopes = kind === 'Configuration' ? {} : { scopes: [] };
  const metadata = { name: 'events', namespace: 'default' };
  return { apiVersion, kind, metadata, spec: withField(spec, field), ...auth, ...scopes };
}

/** Keys of maps are names of things, and not of Dapr's. */
const NAMES = new Set(['a', 'b', 'c', 'other', 'events', 'type', 'rawPayload', 'client', 'address', 'format']);
/** Where such maps are. */
const MAPS = new Set(['timeouts', 'retries', 'circuitBreakers', 'apps', 'components', 'actors', 'metadata']);
const FREE = new Set(['configuration', 'mtls', 'secrets', 'logging', 'wasm', 'workflow', 'zipkin', 'http', 'rules']);

/** All keys in capitals, but those that are data. */
function inCapitals(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => inCapitals(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = isMap && NAMES.has(key) ? key : key.toUpperCase();
      return [name, FREE.has(key) ? member : inCapitals(member, MAPS.has(key))];
    }),
  );
}

const ROWS = Object.entries(KINDS).flatMap(([what, kind]) =>
  kind.fields.map((field) => [what, field[0], JSON.stringify(field[1]), manifestOf(kind, field)] as const),
);
const environment = { KEY: 'secret' };

describe("every field of Dapr's types", () => {
  test.each(ROWS)('%s: %s %s', async (_what, _path, _value, manifest) => {
    const files = { 'a.yaml': stringify(manifest), 'store.yaml': STORE };
    expect((await findingsOf(files, { environment })).problems).toEqual([]);
  });

  test.each(ROWS)('in capitals, wire dapr: %s: %s %s', async (_what, _path, _value, manifest) => {
    const files = { 'a.yaml': stringify(inCapitals(manifest)), 'store.yaml': STORE };
    const { problems, notes } = await findingsOf(files, { environment, wire: 'dapr' });
    const plain = await findingsOf({ ...files, 'a.yaml': stringify(manifest) }, { environment, wire: 'dapr' });
    expect({ problems, notes: notes.length }).toEqual({ problems: [], notes: plain.notes.length });
  });
});

describe('keys and kinds in any case', () => {
  const yaml = `apiVersion: dapr.io/v1alpha1
Kind: httpendpoint
metadata: {Name: books}
spec: {baseURL: "http://example.com", Headers: [{Name: X-Data, Value: A}]}
AUTH: {secretstore: env}
`;

  test('are understood with wire dapr; what is data keeps its case', async () => {
    const { options } = await load(yaml, { wire: 'dapr' });
    const headers = { 'X-Data': 'A' };
    expect(options.httpEndpoints).toEqual([{ name: 'books', baseUrl: 'http://example.com', headers }]);
  });

  test('are hinted at with wire sidecar', async () => {
    const { problems } = await findingsOf({ 'a.yaml': yaml });
    expect(problems).toEqual([
      'a.yaml:2:7 (document 1): kind is missing or no text: it has "Kind"; did you mean "kind"?',
    ]);
    const known = await findingsOf({ 'a.yaml': yaml.replace('Kind: httpendpoint', 'kind: HTTPEndpoint') });
    expect(known.problems).toContain('a.yaml:4:8 (document 1): unknown field spec.baseURL; did you mean "baseUrl"?');
  });

  test('places are those of the keys as they are written', async () => {
    const { problems } = await findingsOf({ 'a.yaml': yaml.replace('http://', 'ftp://') }, { wire: 'dapr' });
    expect(problems).toEqual([
      'a.yaml:4:17 (document 1): spec.baseUrl is "ftp://example.com": expected an http or https URL',
    ]);
  });

  test('two that mean the same are a problem', async () => {
    const twice = yaml.replace('Headers: [', 'BaseUrl: "http://other.example", Headers: [');
    const { problems } = await findingsOf({ 'a.yaml': twice }, { wire: 'dapr' });
    expect(problems).toEqual([
      'a.yaml:4:8 (document 1): spec.baseUrl is written twice, once as baseURL',
      'a.yaml:4:39 (document 1): spec.baseUrl is written twice, once as BaseUrl',
    ]);
  });

  test('so are names of name resolution components', async () => {
    const text = `apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata: {name: settings}
spec: {nameResolution: {component: NameFormat, configuration: {format: '{appid}:3500'}}}
`;
    const { options } = await load(text, { wire: 'dapr' });
    expect(options.nameResolution).toEqual({ dns: { template: '{appId}', port: 3500 } });
    const { problems } = await findingsOf({ 'a.yaml': text });
    expect(problems).toEqual([expect.stringMatching(/component is "NameFormat".*did you mean "nameformat"\?$/)]);
  });

  test('component types and their versions too', async () => {
    const text = component('events', 'PubSub.In-Memory').replace('version: v1', 'version: V1');
    expect((await load(text, { wire: 'dapr' })).options.components).toMatchObject([{ type: 'pubsub.in-memory' }]);
  });

  test('a hostile key is an unknown field', async () => {
    const { problems } = await findingsOf({ 'a.yaml': `${yaml}__PROTO__: {kind: Component}\n` }, { wire: 'dapr' });
    expect(problems).toEqual(['a.yaml:6:1 (document 1): unknown field __PROTO__']);
  });
});

describe('the settings of a collector', () => {
  test('headers are a list of name=value, the timeout is a duration', async () => {
    const otel = 'otel: {endpointAddress: "a:1", headers: ["A=b", "c=d,e=f"], timeout: 1m30s}';
    const { telemetry } = await load(
      `apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: {name: a}\nspec: {tracing: {${otel}}}\n`,
    );
    expect(telemetry?.tracing?.collector).toMatchObject({ headers: { a: 'b', c: 'd,e=f' }, timeoutMs: 90_000 });
  });

  test.each(['soon', '-5s', 0, '0s'])('a timeout of %j is refused', async (timeout) => {
    const otel = { endpointAddress: 'a:1', timeout };
    const manifest = { apiVersion: 'dapr.io/v1alpha1', kind: 'Configuration', metadata: { name: 'a' } };
    const { problems } = await findingsOf({ 'a.yaml': stringify({ ...manifest, spec: { tracing: { otel } } }) });
    expect(problems).toEqual([expect.stringContaining(`spec.tracing.otel.timeout is ${JSON.stringify(timeout)}`)]);
  });
});

describe('values that are no single source', () => {
  const withValue = (value: object): Promise<string[]> =>
    findingsOf({
      'a.yaml': stringify(manifestOf(KINDS['Component'] as Kind, ['metadata', [{ name: 'allowedTopics', ...value }]])),
      'store.yaml': STORE,
    }).then(({ problems }) => problems);

  test('a reference without a name refers to nothing', async () => {
    expect(await withValue({ secretKeyRef: { key: 'a' } })).toEqual([
      expect.stringContaining('spec.metadata[0].secretKeyRef.name is missing'),
    ]);
  });

  test('two sources are still refused', async () => {
    expect(await withValue({ value: 'a', envRef: 'KEY' })).toEqual([
      expect.stringContaining('spec.metadata[0] has value and envRef: expected one of them'),
    ]);
  });
});

describe('the name of a component', () => {
  test.each(['my pubsub', '100%', '50% off', 'a%2Fb', 'näme'])('may be %j', async (name) => {
    const { options } = await load(component(JSON.stringify(name), 'pubsub.in-memory'));
    await using sidecar = new Sidecar({ appId: 'orders', ...options });
    await sidecar.start();
    await expect(sidecar.pubsub.publish(name, 'a', 1)).resolves.toBeUndefined();
    const path = `/v1.0/publish/${encodeURIComponent(name)}/a`;
    await using server = await listen(nodeHandler(sidecar));
    expect((await send(server.url, 'POST', path, { body: '1' })).status).toBe(204);
  });
});

describe('a multi-app file', () => {
  const FIELDS = `Version: 1
NAME: shop
Common: {LogLevel: WARN, Env: {Kept: "1"}}
Apps:
- AppID: orders
  appdirpath: one
  APPPORT: 3000
  AppProtocol: HTTP
  appLogDestination: Console
  daprdLogDestination: ""
  Command: [node, app.js, 1.10, ~, yes, 0x10]
  Env: {Port: 1.10, FLAG: true}
`;

  test('has keys and choices in any case with wire dapr, and scalars as they are written', async () => {
    const at = await directoryWith({ 'dapr.yaml': FIELDS, 'one/app.js': '' });
    const { name, apps } = await loadMultiApp(join(at, 'dapr.yaml'), { wire: 'dapr' });
    expect(name).toBe('shop');
    expect(apps).toMatchObject([
      {
        appId: 'orders',
        appPort: 3000,
        appProtocol: 'http',
        logLevel: 'WARN',
        appLogDestination: 'console',
        daprdLogDestination: 'file',
        command: ['node', 'app.js', '1.10', '~', 'yes', '0x10'],
        env: { Kept: '1', Port: '1.10', FLAG: 'true' },
      },
    ]);
  });

  test('is hinted at with wire sidecar', async () => {
    const at = await directoryWith({ 'dapr.yaml': FIELDS, 'one/app.js': '' });
    await expect(loadMultiApp(join(at, 'dapr.yaml'))).rejects.toThrow('unknown field Apps; did you mean "apps"?');
  });
});
