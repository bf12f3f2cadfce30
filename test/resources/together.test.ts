import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nodeHandler, Sidecar } from '../../src/index.ts';
import { loadResources } from '../../src/resources/index.ts';
import { Report } from '../../src/resources/report.ts';
import { readResource } from '../../src/resources/resource.ts';
import { parseYaml } from '../../src/resources/yaml-file.ts';
import { listen, send } from '../support/http.ts';
import { component, directoryWith, documents, findingsOf, metadata, PATIENCE } from './files.ts';

test('a directory with every kind makes a sidecar that does what it says', async () => {
  const paths: string[] = [];
  await using service = await listen((req, res) => {
    paths.push(`${req.method} ${req.url} ${req.headers['x-key']}`);
    res.end('service');
  });
  const directory = await directoryWith({
    'components.yaml': documents(
      component('events', 'pubsub.redis', metadata({ publishingScopes: 'orders=placed', redisHost: 'localhost' })),
      component('secrets', 'secretstores.local.file', metadata({ secretsFile: 'secrets.json' })),
    ),
    'secrets.json': '{"service":{"key":"k-1"}}',
    'rest.yaml': `apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata: {name: placed}
spec:
  pubsubname: events
  topic: placed
  routes: {rules: [{match: event.data.amount > 10, path: /big}], default: /small}
---
apiVersion: dapr.io/v1alpha1
kind: HTTPEndpoint
metadata: {name: service}
spec:
  baseUrl: ${service.url}/base
  headers: [{name: x-key, secretKeyRef: {name: "service:key"}}]
auth: {secretStore: secrets}
---
apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata: {name: config}
spec:
  tracing: {samplingRate: "1"}
  accessControl: {defaultAction: deny}
  api: {denied: [{name: jobs}]}
  nameResolution: {component: static, configuration: {mail: "http://127.0.0.1:9"}}
---
apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: resiliency}
spec:
  policies: {retries: {once: {policy: constant, duration: 1ms, maxRetries: 1}}}
  targets: {apps: {service: {retry: once}}, components: {events: {outbound: {retry: once}}}}
`,
  });
  const { options } = await loadResources([directory], {
    appId: 'orders',
    environment: {},
    workingDirectory: directory,
    substitute: { 'pubsub.redis': 'pubsub.in-memory' },
  });
  const app = (request: Request): Response => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/dapr/')) return new Response(null, { status: 404 });
    paths.push(`${request.method} ${pathname}`);
    return new Response();
  };
  await using sidecar = new Sidecar({ appId: 'orders', wire: 'dapr', app: { fetch: app }, ...options });
  await sidecar.start();
  await using http = await listen(nodeHandler(sidecar));

  await send(http.url, 'POST', '/v1.0/publish/events/placed', { body: { amount: 11 } });
  await send(http.url, 'POST', '/v1.0/publish/events/placed', { body: { amount: 9 } });
  await expect.poll(() => paths.toSorted(), PATIENCE).toEqual(['POST /big', 'POST /small']);
  expect((await send(http.url, 'POST', '/v1.0/publish/events/other')).error).toEqual([403, 'ERR_PUBSUB_FORBIDDEN']);
  const answer = await send(http.url, 'GET', '/v1.0/invoke/service/method/a?b=1');
  expect([answer.status, answer.text, paths.at(-1)]).toEqual([200, 'service', 'GET /base/a?b=1 k-1']);
  expect((await send(http.url, 'GET', '/v1.0/jobs/x')).status).toBe(404);
});

test('docs/resources.md shows messages as they are', async () => {
  const shown = await readFile(join(import.meta.dirname, '../../docs/resources.md'), 'utf8');
  const pulsar = component('events', 'pubsub.pulsar');
  const { problems } = await findingsOf({
    'resources/x': '',
    'pubsub.yaml': documents(pulsar, `\n\n\n\n${component('more', 'pubsub.in-memory', '  verison: v1')}`),
    'subscriptions.yaml': 'apiVersion: dapr.io/v2alpha1\nkind: Subscripton\n',
  });
  expect(problems).toHaveLength(3);
  for (const problem of problems) expect(shown).toContain(problem);
});

test('no text makes reading throw, and every problem has a place in it', () => {
  const words = [
    ...[
      '\n',
      '  ',
      '- ',
      ': ',
      '?',
      '[',
      ']',
      '{',
      '}',
      ',',
      '"',
      "'",
      '|',
      '>',
      '&a ',
      '*a',
      '!t ',
      '#',
      '---\n',
      '...\n',
      '\t',
    ],
    ...[
      'apiVersion',
      'dapr.io/v1alpha1',
      'kind',
      'Component',
      'metadata',
      'name',
      'spec',
      'type',
      'scopes',
      '<<',
      '__proto__',
    ],
    ...['\r\n', '\uFEFF', '\0', '\u{1F600}', '~', '1e999', '%YAML 1.1\n'],
  ];
  const text = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 4 })), { maxLength: 60 });
  fc.assert(
    fc.property(text, (parts) => {
      const report = new Report();
      const whole = parts.join('');
      for (const document of parseYaml('a.yaml', whole, report)) readResource(document, report);
      const lines = whole.split(/\r?\n/).length;
      for (const { line, column } of report.problems) {
        expect(line).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(lines);
        expect(column).toBeGreaterThan(0);
      }
    }),
    { numRuns: 2_000 },
  );
});
