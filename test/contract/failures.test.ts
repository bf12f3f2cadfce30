import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import { defineJob, memoryPubSub, Sidecar } from '../../src/index.ts';
import { patientClock } from '../support/clock.ts';
import { RecordingLogger } from '../support/logger.ts';
import { WAYS } from '../support/served.ts';
import { startWorld } from '../support/world.ts';

class PaymentError extends Error {}

const SUBSCRIPTION = { pubsubname: 'pubsub', topic: 'orders', route: '/orders' };

/** Where the thrown errors of this file come from. */
const HERE = expect.stringContaining('failures.test.ts');

function declined(): Error {
  return new PaymentError('declined', { cause: new TypeError('no card') });
}

const LOGGED = {
  type: 'PaymentError',
  message: 'declined',
  stack: HERE,
  cause: { type: 'TypeError', message: 'no card', stack: HERE },
};

interface Hostile {
  readonly what: string;
  readonly make: () => unknown;
  readonly text: string;
}

const NON_ERRORS: readonly Hostile[] = [
  { what: 'an object', make: () => ({ code: 7 }), text: '{ code: 7 }' },
  { what: 'undefined', make: () => undefined, text: 'undefined' },
  { what: 'null', make: () => null, text: 'null' },
  { what: 'a string', make: () => 'boom', text: "'boom'" },
  {
    what: 'a getter that throws',
    make: () => ({
      get message() {
        throw new Error('hostile');
      },
    }),
    text: '{ message: [Getter] }',
  },
  {
    what: 'a toString that throws',
    make: () => ({
      toString() {
        throw new Error('hostile');
      },
    }),
    text: '{ toString: [Function: toString] }',
  },
  {
    what: 'a proxy that throws',
    make: () =>
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('hostile');
          },
        },
      ),
    text: 'Proxy [ {}, { get: [Function: get] } ]',
  },
];

/** A sidecar with a subscription in code that throws, and everything it logs and tells. */
async function throwing(value: () => unknown, run: (world: Throwing) => Promise<void>): Promise<void> {
  const clock = patientClock();
  const logger = new RecordingLogger();
  await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], clock, logger });
  await sidecar.start();
  const dead: string[] = [];
  await sidecar.pubsub.subscribe('pubsub', 'orders', () => Promise.reject(value()), {
    deadLetterTopic: 'dead',
    retry: { maxRetries: 1 },
  });
  await sidecar.pubsub.subscribe(
    'pubsub',
    'dead',
    (_event, { deadLetter }) => void dead.push(deadLetter?.reason ?? ''),
  );
  await run({ sidecar, clock, logger, dead });
}

interface Throwing {
  readonly sidecar: Sidecar;
  readonly clock: ReturnType<typeof patientClock>;
  readonly logger: RecordingLogger;
  readonly dead: readonly string[];
}

describe('a function that throws', () => {
  test('for a message: stack and causes in the log, the error itself in events', async () => {
    const error = declined();
    const told: unknown[] = [];
    await throwing(
      () => error,
      async ({ sidecar, clock, logger }) => {
        sidecar.events.on('messageRetrying', (info) => told.push(info.error));
        sidecar.events.on('messageDeadLettered', (info) => told.push(info.error));
        await sidecar.pubsub.publish('pubsub', 'orders', 'x');
        await clock.advance('1m');
        expect(logger.at('warn').map(({ message, details }) => [message, details['reason'], details['error']])).toEqual(
          [
            ['message will be delivered again', 'declined', LOGGED],
            ['message dead-lettered', 'declined', LOGGED],
          ],
        );
      },
    );
    expect(told.map((one) => one === error)).toEqual([true, true]);
  });

  test('for a message that is dropped in the end', async () => {
    const clock = patientClock();
    const logger = new RecordingLogger();
    await using sidecar = new Sidecar({ appId: 'shop', components: [memoryPubSub('pubsub')], clock, logger });
    await sidecar.start();
    const error = declined();
    const told: unknown[] = [];
    sidecar.events.on('messageDropped', (info) => told.push(info.error));
    const fail = (): never => {
      throw error;
    };
    await sidecar.pubsub.subscribe('pubsub', 'orders', fail, { retry: { maxRetries: 0 } });
    await sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await clock.settled();
    expect(logger.at('error')).toMatchObject([{ details: { reason: 'declined', error: LOGGED } }]);
    expect(told[0]).toBe(error);
  });

  test('for a job: stack and causes in the log, the error itself in events', async () => {
    const clock = patientClock();
    const logger = new RecordingLogger();
    await using sidecar = new Sidecar({ appId: 'shop', clock, logger });
    const error = declined();
    const told: unknown[] = [];
    for (const name of ['jobRetrying', 'jobFailed', 'jobDropped'] as const)
      sidecar.events.on(name, (info) => told.push([name, info.error === error, info.reason]));
    sidecar.register(defineJob('*', () => Promise.reject(error)));
    await sidecar.start();
    const retry = { maxRetries: 1, delay: '1s' } as const;
    await sidecar.jobs.schedule('report', { dueTime: '1s', retry });
    const body = { dueTime: '1m', failure_policy: { drop: {} } };
    await sidecar.handle(request('POST', '/v1.0-alpha1/jobs/once', { body }));
    await clock.advance('2m');
    expect(told).toEqual([
      ['jobRetrying', true, 'declined'],
      ['jobFailed', true, 'declined'],
      ['jobDropped', true, 'declined'],
    ]);
    expect(logger.lines.map(({ level, details }) => [level, details['error']])).toEqual([
      ['warn', LOGGED],
      ['error', LOGGED],
      ['error', LOGGED],
    ]);
  });

  test('for an activity and its workflow: the error itself in the event, stacks and causes in the log', async () => {
    const clock = patientClock();
    const logger = new RecordingLogger();
    await using sidecar = new Sidecar({ appId: 'shop', clock, logger });
    const error = declined();
    const told: unknown[] = [];
    sidecar.events.on('activityFailed', (info) => told.push(info.error === error));
    for (const name of ['workflowTaskRetrying', 'workflowFailed'] as const)
      sidecar.events.on(name, (info) => told.push(info.error.stackTrace));
    sidecar.workflows.registerActivity('charge', () => Promise.reject(error));
    sidecar.workflows.register('checkout', async (ctx) => {
      try {
        await ctx.callActivity('charge', undefined, { retry: { maxRetries: 1, delay: 1_000 } });
      } catch {
        throw declined();
      }
    });
    await sidecar.start();
    await sidecar.workflows.start('checkout', { instanceId: 'one' });
    await clock.advance('1m');
    const stackTrace = expect.stringMatching(
      /failures\.test\.ts(?:.|\n)*\ncaused by: TypeError: no card\n {4}at .*failures\.test/,
    );
    expect(told).toEqual([true, stackTrace, true, stackTrace]);
    expect(logger.at('warn')).toMatchObject([
      { message: 'a task of a workflow failed: will be tried again', details: { reason: 'declined', stackTrace } },
      { message: 'a task of a workflow failed', details: { reason: 'declined', stackTrace } },
      { message: 'a workflow failed', details: { reason: 'declined', stackTrace } },
    ]);
  });

  test.each(NON_ERRORS)('may throw what is no error, $what: it can be read', async ({ make, text }) => {
    const reason = `a value that is not an error was thrown: ${text}`;
    const value = make();
    const told: unknown[] = [];
    await throwing(
      () => value,
      async ({ sidecar, clock, logger, dead }) => {
        sidecar.events.on('messageDeadLettered', (info) => told.push(info.error === value));
        await sidecar.pubsub.publish('pubsub', 'orders', 'x');
        await clock.advance('1m');
        expect(logger.at('warn').map(({ details }) => details['reason'])).toEqual([reason, reason]);
        expect(dead).toEqual([reason]);
      },
    );
    expect(told).toEqual([true]);
  });
});

test('a listener of sidecar.events that throws what is no error: it can be read in the log', async () => {
  await using world = await startWorld();
  world.sidecar.events.on('messagePublished', () => {
    throw { code: 7n };
  });
  await world.publish('x');
  const message = 'a value that is not an error was thrown: { code: 7n }';
  expect(world.logger.at('error').map(({ details }) => details)).toEqual([
    { event: 'messagePublished', error: { type: 'object', message } },
  ]);
});

describe('an application in this process that throws', () => {
  test('has its stack in the log, and the error itself in events', async () => {
    const error = declined();
    const discovery = JSON.stringify([SUBSCRIPTION]);
    const told: unknown[] = [];
    const clock = patientClock();
    const logger = new RecordingLogger();
    await using sidecar = new Sidecar({
      appId: 'shop',
      components: [memoryPubSub('pubsub')],
      clock,
      logger,
      app: {
        listener: async (req, res) => {
          if (req.method === 'POST') throw error;
          if (req.url !== '/sidecar/subscribe') res.statusCode = 404;
          res.setHeader('content-type', 'application/json').end(discovery);
        },
      },
    });
    sidecar.events.on('messageRetrying', (info) => told.push(info.error));
    await sidecar.start();
    await clock.settled();
    await sidecar.pubsub.publish('pubsub', 'orders', 'x');
    await clock.settled();
    expect(logger.at('warn')).toMatchObject([{ details: { reason: 'declined', error: LOGGED } }]);
    expect(told[0]).toBe(error);
  });
});

describe.each(WAYS)('an application that fails over HTTP, via %s', (via) => {
  test.each<[what: string, reply: object, reason: string]>([
    ['its status', { status: 503 }, 'the application answered 503'],
    ['RETRY', { body: { status: 'RETRY' } }, 'the application answered RETRY'],
  ])('is told of by an Error with %s', async (_, reply, reason) => {
    await using world = await startWorld({ via, answer: () => reply });
    await world.publish('x');
    const [{ error } = {}] = world.emitted('messageRetrying') as readonly { error?: unknown }[];
    expect(error).toEqual(new Error(reason));
    expect(world.logger.lines.map(({ details }) => details['error'])).toEqual([undefined]);
  });
});
