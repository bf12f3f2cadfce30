/** Bad input of bindings: each row with the status, the code and the message of its answer. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mqttBinding } from '../../src/components/mqtt/index.ts';
import { postgresqlBinding } from '../../src/components/postgresql/index.ts';
import { rabbitmqBinding } from '../../src/components/rabbitmq/index.ts';
import { redisBinding } from '../../src/components/redis/index.ts';
import { smtpBinding } from '../../src/components/smtp/index.ts';
import { cronBinding, httpBinding, localStorageBinding } from '../../src/index.ts';
import { FAILED, refusalOf } from '../support/binding-refusal.ts';
import { type BindingsWorld, bindingsWorld } from '../support/bindings-world.ts';
import { freePort } from '../support/http.ts';
import { WIRES } from '../support/stores-world.ts';

const MALFORMED = 'ERR_MALFORMED_REQUEST';
const LIMIT_BYTES = 100_000;

type Row = readonly [what: string, name: string, body: string, status: number, code: string, message: string];

const failed = (what: string, name: string, call: object, problem: string): Row =>
  [...[what, name, JSON.stringify(call), 500, FAILED, problem]] as unknown as Row;
const failing = (what: string, name: string, call: object, problem: string): Row =>
  failed(what, name, call, `error invoking output binding ${name}: ${problem}`);
const malformed = (what: string, body: string, problem: string): Row =>
  [...[what, 'web', body, 400, MALFORMED, `failed deserializing the request: ${problem}`]] as unknown as Row;

const OPERATIONS: Readonly<Record<string, string>> = {
  web: 'create, get, head, post, put, patch, delete, options, trace',
  db: 'exec, query, close',
  files: 'create, get, list, delete',
  mail: 'create',
  cache: 'create, get, delete, increment',
  sensors: 'create',
  queue: 'create',
};
const MAIL = { emailFrom: 'a@b.example', emailTo: 'c@d.example', subject: 'Hello' };

const ROWS: readonly Row[] = [
  malformed('a body that is no JSON', '{"operation":', 'the body is not JSON'),
  malformed('data that are no JSON', '{"operation":"get","data":selekt}', 'the body is not JSON'),
  malformed('an empty body', '', 'the body is not JSON'),
  malformed('a body that is a list', '[]', 'the body is an array'),
  malformed('a body that is a text', '"get"', 'the body is a string'),
  malformed('an operation that is a number', '{"operation":1}', 'operation is 1: expected a string'),
  malformed('metadata that are a list', '{"operation":"get","metadata":[]}', 'metadata is'),
  malformed('metadata with a number', '{"operation":"get","metadata":{"a":1}}', 'metadata.a is'),
  malformed('metadata with null', '{"operation":"get","metadata":{"a":null}}', 'metadata.a is'),
  ...Object.entries(OPERATIONS).flatMap(([name, known]) => [
    failed(
      `an operation that ${name} does not have`,
      name,
      { operation: 'drop' },
      `"drop" is not known for binding ${name}: expected ${known}`,
    ),
    failed(
      `no operation for ${name}`,
      name,
      { data: 1 },
      `operation is missing for binding ${name}: expected ${known}`,
    ),
  ]),
  failed('an operation in another case', 'web', { operation: 'GET' }, '"GET" is not known'),
  failed('the name of a prototype as operation', 'web', { operation: 'constructor' }, '"constructor" is not known'),
  failed(
    'an operation of 50,000 characters',
    'web',
    { operation: 'x'.repeat(50_000) },
    `"${'x'.repeat(79)}… is not known`,
  ),
  failed('a binding that there is not', 'wep', { operation: 'get' }, 'wep'),
  failed('the name of a prototype', '__proto__', { operation: 'get' }, '__proto__'),
  failed('a name with a slash', 'a%2Fweb', { operation: 'get' }, 'a/web'),
  failed('an input binding', 'tick', { operation: 'create' }, 'binding tick cannot be called: it is an input binding'),
  failed('an input by its direction', 'in-only', { operation: 'create' }, 'in-only cannot be called'),
  failed('a binding of other applications', 'theirs', { operation: 'get' }, 'theirs'),
  failing('a path with ..', 'web', { operation: 'get', metadata: { path: '../x' } }, 'metadata path cannot be used'),
  failing(
    'a header with a line break',
    'web',
    { operation: 'get', metadata: { 'X-A': 'a\r\nHost: b' } },
    'metadata "X-A" cannot be a header',
  ),
  failing(
    'a header name with a space',
    'web',
    { operation: 'get', metadata: { 'X A': 'a' } },
    'metadata "X A" cannot be a header',
  ),
  failing('a query without a statement', 'db', { operation: 'query' }, 'metadata sql is missing: expected a statement'),
  failing('an empty statement', 'db', { operation: 'exec', metadata: { sql: '' } }, 'metadata sql is missing'),
  ...['{', '{"a":1}', '1', 'null', '[1'].map((params) =>
    failing(
      `params ${params}`,
      'db',
      { operation: 'exec', metadata: { sql: 'select $1', params } },
      'metadata params is no JSON array',
    ),
  ),
  failing(
    'a get without a name',
    'files',
    { operation: 'get' },
    'metadata fileName is missing: expected the path of a file',
  ),
  failing('a delete without a name', 'files', { operation: 'delete' }, 'metadata fileName is missing'),
  failing(
    'a file that there is not',
    'files',
    { operation: 'get', metadata: { fileName: 'a/b' } },
    'file "a/b": there is no such file',
  ),
  failing(
    'a way out of the directory',
    'files',
    { operation: 'get', metadata: { fileName: '../../etc/passwd' } },
    'file "../../etc/passwd": there is no such file',
  ),
  failing(
    'a list of a directory that there is not',
    'files',
    { operation: 'list', metadata: { fileName: 'x' } },
    'file "x": there is no such file',
  ),
  failing(
    'a file name with a NUL',
    'files',
    { operation: 'create', data: 1, metadata: { fileName: 'a\0b' } },
    'metadata fileName has a NUL character',
  ),
  failing(
    'a file name that is too long',
    'files',
    { operation: 'create', data: 1, metadata: { fileName: 'x'.repeat(300) } },
    `file "${'x'.repeat(79)}…: its name is too long`,
  ),
  failing('a mail without data', 'mail', { operation: 'create', metadata: MAIL }, 'data: expected a text'),
  ...['emailFrom', 'emailTo', 'subject'].map((part) =>
    failing(
      `a mail without ${part}`,
      'mail',
      { operation: 'create', data: 'x', metadata: { ...MAIL, [part]: '' } },
      `metadata ${part}`,
    ),
  ),
  failing(
    'a subject with a line break',
    'mail',
    { operation: 'create', data: 'x', metadata: { ...MAIL, subject: 'a\r\nBcc: e@f.example' } },
    'metadata subject has a control character',
  ),
  failing(
    'a recipient that is none',
    'mail',
    { operation: 'create', data: 'x', metadata: { ...MAIL, emailTo: 'c' } },
    'metadata emailTo: expected addresses',
  ),
  failing(
    'a priority of 6',
    'mail',
    { operation: 'create', data: 'x', metadata: { ...MAIL, priority: '6' } },
    'metadata priority: expected a number from 1',
  ),
  failing('a get without a key', 'cache', { operation: 'get' }, 'metadata key is missing: expected the key of a value'),
  failing(
    'a time to live of 0',
    'cache',
    { operation: 'create', metadata: { key: 'a', ttlInSeconds: '0' } },
    'metadata ttlInSeconds must be a whole number of 1 or more',
  ),
  failing(
    'a topic with a wildcard',
    'sensors',
    { operation: 'create', metadata: { topic: 'a/#' } },
    'MQTT cannot publish to topic "a/#"',
  ),
  failing('a call without a topic', 'sensors', { operation: 'create' }, 'MQTT cannot publish to topic "a/+"'),
  failing(
    'a time to live that is no number',
    'queue',
    { operation: 'create', metadata: { ttlInSeconds: 'soon' } },
    'metadata ttlInSeconds must be a whole number from 1 to 4294967',
  ),
  failing(
    'a priority of 256',
    'queue',
    { operation: 'create', metadata: { priority: '256' } },
    'metadata priority must be a whole number from 0 to 255',
  ),
];

describe.each(WIRES)('bad input, wire %s', (wire) => {
  let world: BindingsWorld;
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'insidecar-refusals-'));
    const port = await freePort();
    const url = `http://user:hidden@127.0.0.1:${port}`;
    world = await bindingsWorld({
      ...{ wire, bodyLimitBytes: LIMIT_BYTES, hasApp: false },
      components: [
        httpBinding('web', { url }),
        httpBinding('theirs', { url, scopes: ['another'] }),
        cronBinding('tick', { schedule: '@yearly' }),
        postgresqlBinding('db', { url: `postgresql://user:hidden@127.0.0.1:${port}/hidden` }),
        localStorageBinding('files', { rootPath: join(directory, 'root') }),
        smtpBinding('mail', { host: '127.0.0.1', port }),
        redisBinding('cache', { url: `redis://user:hidden@127.0.0.1:${port}` }),
        mqttBinding('sensors', { url: `mqtt://user:hidden@127.0.0.1:${port}`, topic: 'a/+' }),
        mqttBinding('in-only', { url: `mqtt://127.0.0.1:${port}`, topic: 'a', direction: ['input'] }),
        rabbitmqBinding('queue', { url: `amqp://user:hidden@127.0.0.1:${port}`, queueName: 'q' }),
      ],
    });
  });

  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  test.each(ROWS)('%s', async (_what, name, body, status, code, message) => {
    const refusal = refusalOf(await world.invoke(name, body));
    expect(refusal).toEqual([status, code, expect.stringContaining(message)]);
    expect(refusal[2].length).toBeLessThan(400);
  });

  test('a body over the limit', async () => {
    const large = await world.invoke('web', { operation: 'get', data: 'x'.repeat(LIMIT_BYTES) });
    expect(refusalOf(large).slice(0, 2)).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test.each(['GET', 'DELETE', 'PATCH'])('%s is no method of the route', async (method) => {
    const { status, headers } = await world.send(method, '/v1.0/bindings/web');
    expect([status, headers['allow']]).toEqual([405, 'POST, PUT']);
  });
});
