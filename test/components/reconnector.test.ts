import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OutageLog } from '../../src/components/outage-log.ts';
import {
  Reconnector,
  type ReconnectorDeps,
  type ReconnectorOptions,
  unreachableText,
} from '../../src/components/reconnector.ts';
import { until } from '../support/broker-world.ts';
import { RecordingLogger } from '../support/logger.ts';

interface Connection {
  readonly number: number;
  isEnded: boolean;
}

/** A server that a test makes refuse connections, or keep them waiting. */
class TestServer {
  readonly logger = new RecordingLogger();
  readonly connections: Connection[] = [];
  readonly attemptedAt: number[] = [];
  readonly signals: AbortSignal[] = [];
  refusal: string | undefined;
  /** An attempt waits for it. */
  gate: Promise<void> = Promise.resolve();

  reconnector(
    options: ReconnectorOptions<Connection> = {},
    deps: Partial<ReconnectorDeps<Connection>> = {},
  ): Reconnector<Connection> {
    return new Reconnector(
      {
        connect: (signal) => this.#connect(signal),
        end: (connection) => {
          connection.isEnded = true;
        },
        outages: new OutageLog(this.logger, 'Server at x:1'),
        random: () => 0,
        ...deps,
      },
      options,
    );
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    this.attemptedAt.push(performance.now());
    this.signals.push(signal);
    await this.gate;
    if (this.refusal !== undefined) throw new Error(this.refusal);
    const connection = { number: this.connections.length, isEnded: false };
    this.connections.push(connection);
    return connection;
  }

  /** The time between two attempts, in milliseconds. */
  get pauses(): readonly number[] {
    return this.attemptedAt.slice(1).map((at, index) => at - (this.attemptedAt[index] ?? 0));
  }

  get told(): readonly (readonly [level: string, message: string, error?: unknown])[] {
    return this.logger.lines.map(({ level, message, details }) => {
      const { error } = details as { readonly error?: unknown };
      return error === undefined ? [level, message] : [level, message, error];
    });
  }
}

const LOST = 'no connection to the server: trying again';
const BACK = 'connected to the server again';
const gone = new Error('it is gone');

describe('a reconnector', () => {
  let server: TestServer;
  let opened: Reconnector<Connection> | undefined;
  const open: TestServer['reconnector'] = (options, deps) => {
    opened = server.reconnector(options, deps);
    return opened;
  };
  beforeEach(() => {
    server = new TestServer();
  });
  afterEach(() => opened?.close());

  test('connects when it is first needed, once for all that wait', async () => {
    const reconnector = open();
    expect(server.attemptedAt).toEqual([]);
    const found = await Promise.all([reconnector.ready(), reconnector.reachable(), reconnector.connected()]);
    expect(found).toEqual([server.connections[0], server.connections[0], server.connections[0]]);
    expect(server.attemptedAt.length).toBe(1);
    expect(server.told).toEqual([]);
  });

  test('connects again at once, and after short connections with growing delays', async () => {
    const reconnector = open({
      backoff: { initialDelayMs: 40, maxDelayMs: 1_000, factor: 2, jitter: 0 },
      shortLifeMs: 60_000,
    });
    const attempts: number[] = [];
    for (let round = 0; round < 4; round++) {
      reconnector.lose(await reconnector.connected(), gone);
      attempts.push(server.attemptedAt.length);
    }
    await reconnector.connected();
    // The second attempt begins within the loss of the first connection, no other one does.
    expect(attempts).toEqual([2, 2, 3, 4]);
    const [, second = 0, third = 0, fourth = 0] = server.pauses;
    expect(second).toBeGreaterThanOrEqual(79);
    expect(third).toBeGreaterThanOrEqual(159);
    expect(fourth).toBeGreaterThanOrEqual(319);
  });

  test('connects again at once each time when connections last', async () => {
    const reconnector = open({ shortLifeMs: 0 });
    for (let round = 0; round < 20; round++) {
      reconnector.lose(await reconnector.connected(), gone);
      expect(server.attemptedAt).toHaveLength(round + 2);
    }
  });

  test('takes the random share off each delay', async () => {
    const hour = 3_600_000;
    const backoff = { initialDelayMs: hour, maxDelayMs: hour, factor: 2, jitter: 0.99999 };
    const reconnector = open({ backoff }, { random: () => 1 });
    server.refusal = 'not now';
    await expect(reconnector.ready()).rejects.toThrow('not now');
    server.refusal = undefined;
    // After the whole delay, the test would have timed out.
    await reconnector.connected();
    expect(server.pauses[0]).toBeGreaterThan(34);
  });

  test('rejects who waits for one attempt; who waits for the end of the outage gets the connection', async () => {
    const reconnector = open();
    server.refusal = 'not now';
    const waiting = reconnector.connected();
    await expect(reconnector.ready()).rejects.toThrow('not now');
    expect(reconnector.failure?.message).toBe('not now');
    await expect(reconnector.reachable()).rejects.toThrow('not now');
    expect(server.attemptedAt.length).toBe(1);
    server.refusal = undefined;
    expect(await waiting).toBe(server.connections[0]);
    expect(reconnector.failure).toBeUndefined();
  });

  test('rejects all that wait with an error that is final, and goes on trying', async () => {
    const reconnector = open({ isFinal: ({ message }) => message === 'wrong password' });
    server.refusal = 'wrong password';
    await expect(reconnector.connected()).rejects.toThrow('wrong password');
    server.refusal = undefined;
    expect(await reconnector.connected()).toBe(server.connections[0]);
  });

  test('rejects at the time limit of a caller, and goes on trying', async () => {
    const reconnector = open();
    server.refusal = 'not now';
    const limit = { limitMs: 20, error: () => new Error('too late') };
    await expect(reconnector.connected(limit)).rejects.toThrow('too late');
    server.refusal = undefined;
    await reconnector.connected();
  });

  test('logs each reason once, and the end of the outage', async () => {
    const reconnector = open();
    const connection = await reconnector.connected();
    server.refusal = 'refused';
    reconnector.lose(connection, gone);
    await until('it has tried three times', () => server.attemptedAt.length === 4);
    server.refusal = undefined;
    await reconnector.connected();
    expect(server.told).toEqual([
      ['warn', LOST, 'it is gone'],
      ['warn', LOST, 'refused'],
      ['info', BACK],
    ]);
  });

  test('logs nothing when a connection is replaced', async () => {
    const reconnector = open();
    const connection = await reconnector.connected();
    reconnector.replace(connection);
    expect(await reconnector.connected()).toBe(server.connections[1]);
    expect(server.told).toEqual([]);
  });

  test('does not use a connection that has ended before it was handed over', async () => {
    const reconnector: Reconnector<Connection> = open(
      {},
      {
        connect: async () => {
          const connection = { number: server.connections.push({ number: 0, isEnded: false }), isEnded: false };
          if (connection.number === 1) reconnector.lose(connection, gone);
          return connection;
        },
      },
    );
    expect((await reconnector.connected()).number).toBe(2);
    expect(server.told[0]).toEqual(['warn', LOST, 'it is gone']);
  });

  test('connects again when a connection ends while its users hear of it', async () => {
    const reconnector: Reconnector<Connection> = open(
      {},
      { onConnected: (connection) => void (connection.number === 0 && reconnector.lose(connection, gone)) },
    );
    expect(await reconnector.connected()).toBe(server.connections[1]);
  });

  test('ignores the end of an earlier connection', async () => {
    const reconnector = open();
    const first = await reconnector.connected();
    reconnector.lose(first, gone);
    const second = await reconnector.connected();
    reconnector.lose(first, gone);
    expect(reconnector.connection).toBe(second);
  });

  test('gives an attempt up at its time limit, and ends what comes of it', async () => {
    let letIn: (() => void) | undefined;
    server.gate = new Promise((resolve) => {
      letIn = resolve;
    });
    const reconnector = open({ attemptLimit: { limitMs: 20, error: () => new Error('no answer') } });
    await expect(reconnector.ready()).rejects.toThrow('no answer');
    expect(server.signals[0]?.aborted).toBe(true);
    server.gate = Promise.resolve();
    const connection = await reconnector.connected();
    letIn?.();
    await until('the late one is ended', () => server.connections.some(({ isEnded }) => isEnded));
    expect(connection.isEnded).toBe(false);
  });

  test('waits as long as it is told after a loss that is no outage', async () => {
    const reconnector = open({ pauseAfter: ({ error, livedMs }) => (error === gone && livedMs >= 0 ? 60 : undefined) });
    reconnector.lose(await reconnector.connected(), gone);
    expect(reconnector.failure).toBe(gone);
    await reconnector.connected();
    expect(server.pauses[0]).toBeGreaterThanOrEqual(59);
    expect(server.told).toEqual([]);
  });

  test('a close ends the connection, and rejects all that wait', async () => {
    const reconnector = open();
    const connection = await reconnector.connected();
    await reconnector.close();
    expect(connection.isEnded).toBe(true);
    await expect(reconnector.ready()).rejects.toThrow('the component is closed');
    await reconnector.close();
    expect(server.attemptedAt.length).toBe(1);
  });

  test('a close during an attempt ends what comes of it, and does not wait long', async () => {
    let letIn: (() => void) | undefined;
    server.gate = new Promise((resolve) => {
      letIn = resolve;
    });
    const reconnector = open();
    const waiting = expect(reconnector.connected()).rejects.toThrow('the component is closed');
    const closedAt = performance.now();
    await reconnector.close();
    await waiting;
    expect(performance.now() - closedAt).toBeLessThan(3_000);
    expect(server.signals[0]?.aborted).toBe(true);
    letIn?.();
    await until('it is ended', () => server.connections[0]?.isEnded === true);
    expect(reconnector.connection).toBeUndefined();
  });

  test('a close between two attempts ends the attempts, and the outage', async () => {
    const reconnector = open();
    server.refusal = 'not now';
    await expect(reconnector.ready()).rejects.toThrow('not now');
    await reconnector.close();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(server.attemptedAt.length).toBe(1);
  });
});

test.each([
  [new Error('connect ECONNREFUSED'), 'NATS at x:1 cannot be reached: connect ECONNREFUSED'],
  [new Error('NATS at x:1 is a replica'), 'NATS at x:1 is a replica'],
  [Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'NATS at x:1 cannot be reached: ECONNREFUSED'],
  [new AggregateError([new Error('first'), new Error('second')]), 'NATS at x:1 cannot be reached: first'],
  ['closed', 'NATS at x:1 cannot be reached: closed'],
])('names the server in the error %s', (cause, text) => {
  expect(unreachableText('NATS at x:1', cause)).toBe(text);
});
