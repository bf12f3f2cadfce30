/** Output bindings whose outside is down, hangs, breaks off, answers nonsense or an error. */
import { request } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { mqttBinding } from '../../src/components/mqtt/index.ts';
import { postgresqlBinding } from '../../src/components/postgresql/index.ts';
import { rabbitmqBinding } from '../../src/components/rabbitmq/index.ts';
import { redisBinding } from '../../src/components/redis/index.ts';
import { smtpBinding } from '../../src/components/smtp/index.ts';
import { httpBinding } from '../../src/index.ts';
import type { BindingDefinition } from '../../src/kit/index.ts';
import { FAILED, refusalOf } from '../support/binding-refusal.ts';
import { type BindingsWorld, bindingsWorld } from '../support/bindings-world.ts';
import { type Answer, freePort, listen } from '../support/http.ts';
import { type Rudeness, type RudeServer, rudeServer } from '../support/rude-server.ts';
import { WIRES } from '../support/stores-world.ts';

const PATIENCE = { timeout: 20_000, interval: 5 };
const MAIL = { emailFrom: 'a@b.example', emailTo: 'c@d.example', subject: 'hidden' };

/** A binding to a port, and a call of it. */
interface Outside {
  readonly make: (port: number, limitMs: number) => BindingDefinition;
  readonly call: object;
  /** The message when there is no answer. */
  readonly lost: RegExp;
  /** The message when the time is over. Default: that of no answer. */
  readonly late?: RegExp;
}

const LOGIN = 'user:hidden@127.0.0.1';
const OUTSIDES: Readonly<Record<string, Outside>> = {
  'bindings.http': {
    make: (port, timeout) => httpBinding('out', { url: `http://${LOGIN}:${port}/hidden`, timeout }),
    call: { operation: 'post', data: 'hidden' },
    lost: /^the target could not be called(?: \([A-Z_]+\))?$/,
    late: /^the target has not answered within \d+ ms$/,
  },
  'bindings.postgresql': {
    make: (port, timeout) => postgresqlBinding('out', { url: `postgresql://${LOGIN}:${port}/hidden`, timeout }),
    call: { operation: 'query', metadata: { sql: 'select hidden' } },
    lost: /^PostgreSQL cannot be reached, or did not answer in time$/,
  },
  'bindings.redis': {
    make: (port, callTimeout) => redisBinding('out', { url: `redis://${LOGIN}:${port}`, callTimeout }),
    call: { operation: 'create', data: 'hidden', metadata: { key: 'hidden' } },
    lost: /^Redis cannot be reached, or did not answer in time$/,
  },
  'bindings.smtp': {
    make: (port, timeout) => smtpBinding('out', { host: '127.0.0.1', port, timeout }),
    call: { operation: 'create', data: 'hidden', metadata: MAIL },
    lost: /^the mail server cannot be reached, did not answer in time, or has no TLS$/,
  },
  'bindings.rabbitmq': {
    make: (port, publishTimeout) =>
      rabbitmqBinding('out', { url: `amqp://${LOGIN}:${port}`, queueName: 'hidden', publishTimeout }),
    call: { operation: 'create', data: 'hidden' },
    lost: /^the broker did not confirm the message: /,
  },
  'bindings.mqtt3': {
    make: (port, publishTimeout) => mqttBinding('out', { url: `mqtt://${LOGIN}:${port}`, topic: 'a', publishTimeout }),
    call: { operation: 'create', data: 'hidden' },
    lost: /^the broker did not confirm the message: /,
  },
};

describe.each(Object.entries(OUTSIDES))('an outside that fails: %s', (_type, { make, call, lost, late = lost }) => {
  const LIMIT_MS = 400;

  /** Time passes for the sidecar as it does for the outside. */
  async function answerOf(world: BindingsWorld): Promise<Answer> {
    let answer: Answer | undefined;
    const asked = world.invoke('out', call).then((one) => {
      answer = one;
    });
    await vi.waitUntil(async () => {
      await world.clock.advance(20);
      return answer;
    }, PATIENCE);
    await asked;
    return answer as unknown as Answer;
  }

  async function fails(port: number, wire: (typeof WIRES)[number], message: RegExp): Promise<void> {
    await using world = await bindingsWorld({ wire, components: [make(port, LIMIT_MS)], hasApp: false });
    const [status, code, text] = refusalOf(await answerOf(world));
    expect([status, code]).toEqual([500, FAILED]);
    const start = 'error invoking output binding out: ';
    expect(text.startsWith(start)).toBe(true);
    expect(text.slice(start.length)).toMatch(message);
  }

  test.each(WIRES)('it is down, wire %s', async (wire) => {
    await fails(await freePort(), wire, lost);
  });

  test.each(WIRES)('it hangs, wire %s', async (wire) => {
    await using outside = await rudeServer('hangs');
    await fails(outside.port, wire, late);
  });

  test.each<Rudeness>(['closes', 'resets', { says: 'nonsense hidden\r\n\r\n' }])('it %o', async (rudeness) => {
    await using outside = await rudeServer(rudeness);
    await fails(outside.port, 'sidecar', lost);
  });
});

describe.each(WIRES)('a target over HTTP, wire %s', (wire) => {
  const toServer = ({ port }: RudeServer): Promise<BindingsWorld> =>
    bindingsWorld({ wire, components: [OUTSIDES['bindings.http']?.make(port, 60_000) as never], hasApp: false });

  test.each([
    ['in the headers', 'HTTP/1.1 200 OK\r\nx-a: 1\r\n'],
    ['in a body with a length', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    ['in a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nha'],
    ['before the last chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ])('it closes early: %s', async (_where, says) => {
    await using target = await rudeServer({ says });
    await using world = await toServer(target);
    const refusal = refusalOf(await world.invoke('out', { operation: 'get' }));
    expect(refusal).toEqual([500, FAILED, expect.stringContaining('the target could not be called')]);
  });

  test('it answers 500: its status and headers come as metadata, its body does not', async () => {
    await using target = await listen((_req, res) => res.writeHead(500, { 'x-reason': 'full' }).end('hidden'));
    await using world = await bindingsWorld({ wire, components: [httpBinding('out', { url: target.url })] });
    const answer = await world.invoke('out', { operation: 'post', data: 1 });
    expect(refusalOf(answer)).toEqual([500, FAILED, 'error invoking output binding out: the target answered 500']);
    expect(answer.headers).toMatchObject({
      'metadata.statuscode': '500',
      'metadata.status': '500 Internal Server Error',
      'metadata.x-reason': 'full',
    });
  });

  test('the caller goes away: the call of the target ends', async () => {
    await using target = await rudeServer('hangs');
    await using world = await toServer(target);
    const url = `${world.server.url}/v1.0/bindings/out`;
    const caller = request(url, { method: 'POST' }).on('error', () => undefined);
    caller.end('{"operation":"get"}');
    await vi.waitUntil(() => target.asked === 1, PATIENCE);
    expect(target.left).toBe(0);
    caller.destroy();
    await vi.waitUntil(() => target.left === 1, PATIENCE);
  });
});

test('metadata that no client could read as headers are left out, the largest first', async () => {
  const large = 'x'.repeat(20_000);
  const own = {
    ...{ block: 'bindings', name: 'out', type: 'bindings.own', version: 'v1', options: {} },
    ...{ directions: ['output'], operations: ['get'] },
    open: async () => ({
      invoke: async () => ({ metadata: { large, small: '1', 'rows-affected': '2' } }),
      close: async () => undefined,
    }),
  } as const satisfies BindingDefinition;
  await using world = await bindingsWorld({ components: [own] });
  const { status, headers } = await world.invoke('out', { operation: 'get' });
  expect(status).toBe(200);
  expect(headers).toMatchObject({ 'metadata.small': '1', 'metadata.rows-affected': '2' });
  expect(headers).not.toHaveProperty('metadata.large');
});
