import { describe, expect, test } from 'vitest';
import { request } from '../../src/http/message.ts';
import {
  defineActivity,
  defineJob,
  defineWorkflow,
  durablePubSub,
  memoryPubSub,
  Sidecar,
  type SidecarOptions,
} from '../../src/index.ts';
import { gate } from '../../src/kit/adapter-case.ts';
import type { PubSubComponent, PubSubDefinition } from '../../src/kit/index.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/index.ts';
import { NEVER } from '../support/app.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';

const SINCE = /\(since 2026-01-01T00:00:0\d\.000Z\)/;

interface Hanging {
  readonly options?: Partial<SidecarOptions>;
  /** Makes something hang. */
  readonly hang: (sidecar: Sidecar, clock: VirtualClock) => Promise<void>;
  /** How it is called. */
  readonly culprit: string;
  /** A stop breaks it off without waiting. */
  readonly isBrokenOff?: boolean;
}

const toOrders = { subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders' }] };
const publish = (sidecar: Sidecar): Promise<void> =>
  sidecar.pubsub.publish('pubsub', 'orders', 'x', { cloudEvent: { id: 'one' } });
/** An application that answers what it is asked at the start, and nothing else. */
const silent = (request: Request): Promise<Response> =>
  request.method === 'GET' ? Promise.resolve(new Response('[]')) : new Promise(() => undefined);

const HANGING: readonly (readonly [what: string, hanging: Hanging])[] = [
  [
    'a function for messages',
    {
      hang: async (sidecar) => {
        await sidecar.pubsub.subscribe('pubsub', 'orders', () => NEVER);
        await publish(sidecar);
      },
      culprit: 'delivery of message one of topic orders',
    },
  ],
  [
    'a function for jobs',
    {
      hang: async (sidecar, clock) => {
        await sidecar.jobs.register(defineJob('report', () => NEVER));
        await sidecar.jobs.schedule('report', { dueTime: '1s' });
        await clock.advance('1s');
      },
      culprit: 'run of job report',
    },
  ],
  [
    'an activity',
    {
      hang: async (sidecar) => {
        const charge = defineActivity('charge', () => NEVER);
        const checkout = defineWorkflow('checkout', (ctx) => ctx.callActivity(charge));
        sidecar.workflows.register(checkout, charge);
        await sidecar.workflows.start(checkout, undefined, { instanceId: 'order-1' });
      },
      culprit: 'activity "charge" of workflow "order-1"',
    },
  ],
  [
    'a listener that never answers a message',
    {
      options: { ...toOrders, app: { listener: (req, res) => void (req.method === 'GET' && res.end('[]')) } },
      hang: publish,
      culprit: 'delivery of message one of topic orders',
    },
  ],
  [
    'a listener that never answers at all',
    {
      options: { app: { listener: () => undefined } },
      hang: async () => undefined,
      culprit: 'discovery of subscriptions',
      isBrokenOff: true,
    },
  ],
  [
    'a fetch function that never answers an invocation',
    {
      options: { app: { fetch: silent } },
      hang: async (sidecar) => {
        sidecar.invocation.invoke('shop', 'pay', { method: 'POST' }).catch(() => undefined);
      },
      culprit: 'invocation POST /pay',
    },
  ],
];

/** A sidecar in which something hangs. */
async function hangingSidecar({ options, hang }: Hanging): Promise<{
  readonly sidecar: Sidecar;
  readonly clock: VirtualClock;
  readonly logger: RecordingLogger;
}> {
  const clock = virtualClock();
  const logger = new RecordingLogger();
  const components = [memoryPubSub('pubsub')];
  const sidecar = new Sidecar({ appId: 'shop', clock, logger, components, state: new KeptStore(), ...options });
  await sidecar.start();
  await hang(sidecar, clock);
  return { sidecar, clock, logger };
}

/** What a stop has named, one text for each time. */
function givenUpOn(logger: RecordingLogger): readonly string[] {
  const message = 'the stop gave up waiting for unfinished work';
  return logger.at('error').flatMap((line) => (line.message === message ? [String(line.details['running'])] : []));
}

/** Without the times in which this process did not get to run. */
async function secondsOf(work: () => Promise<void>): Promise<number> {
  let [last, tookMs] = [performance.now(), 0];
  const look = (): void => {
    const now = performance.now();
    tookMs += Math.min(now - last, 20);
    last = now;
  };
  const looking = setInterval(look, 5);
  await work();
  clearInterval(looking);
  look();
  return tookMs / 1_000;
}

// vitest and jest give a test up after 5 s: these are the tests that a user writes, with the default time limit.
describe.concurrent.each(HANGING)('%s that hangs', (_, hanging) => {
  test('is named by settled(), and by the stop after it, before a test is given up', async () => {
    let lines: readonly unknown[] = [];
    const { sidecar, clock, logger } = await hangingSidecar(hanging);
    const seconds = await secondsOf(async () => {
      const error = await clock.settled().catch((thrown: unknown) => String(thrown));
      expect(error).toContain(`not settled after 3000 ms; still running: `);
      expect(error).toContain(hanging.culprit);
      expect(error).toMatch(SINCE);
      await sidecar.stop();
      lines = givenUpOn(logger);
    });
    expect(seconds).toBeLessThan(4);
    expect(lines).toEqual(hanging.isBrokenOff ? [] : [expect.stringContaining(hanging.culprit)]);
  });

  test('does not keep a stop from ending', async () => {
    const { sidecar, logger } = await hangingSidecar(hanging);
    expect(await secondsOf(() => sidecar.stop())).toBeLessThan(4);
    expect(givenUpOn(logger)).toEqual(hanging.isBrokenOff ? [] : [expect.stringContaining(hanging.culprit)]);
  });
});

test('a message of a durable component whose function hangs comes again at the next start', async () => {
  const state = new KeptStore();
  const components = [durablePubSub('pubsub')];
  const attempts: number[] = [];
  const begin = async (handler: () => unknown): Promise<{ sidecar: Sidecar; clock: VirtualClock }> => {
    const clock = virtualClock({ gracePeriod: 300 });
    const sidecar = new Sidecar({ appId: 'shop', clock, logger: new RecordingLogger(), components, state });
    await sidecar.start();
    await sidecar.pubsub.subscribe('pubsub', 'orders', async (_event, { attempt }) => {
      attempts.push(attempt);
      await handler();
    });
    return { sidecar, clock };
  };
  const first = await begin(() => NEVER);
  await publish(first.sidecar);
  await first.clock.advance('1h');
  expect(attempts).toEqual([1]);
  await first.sidecar.stop();
  const second = await begin(() => undefined);
  await using _sidecar = second.sidecar;
  await second.clock.settled();
  expect(attempts.length).toBe(2);
});

/** A component that hands nothing out. */
function pubsubThat(hangs: 'leaving a topic' | 'closing'): PubSubDefinition {
  const subscription = {
    pause: () => undefined,
    resume: () => undefined,
    close: () => (hangs === 'leaving a topic' ? NEVER : Promise.resolve()),
  };
  const component = {
    publish: async () => [],
    subscribe: async () => subscription,
    close: () => (hangs === 'closing' ? NEVER : Promise.resolve()),
  };
  return {
    name: 'slow',
    type: 'pubsub.slow',
    version: 'v1',
    topics: {},
    open: async () => component as PubSubComponent,
  };
}

describe.concurrent.each([
  ['leaving a topic', 'leaving topic orders of component slow'],
  ['closing', 'closing component slow'],
] as const)('a component that hangs when it is %s', (hangs, culprit) => {
  test('does not keep a stop from ending, which names it', async () => {
    const logger = new RecordingLogger();
    const components = [pubsubThat(hangs)];
    const sidecar = new Sidecar({ appId: 'shop', clock: virtualClock(), logger, components });
    await sidecar.start();
    await sidecar.pubsub.subscribe('slow', 'orders', () => undefined);
    // Four: one for what is under way, three for what hangs. Timers may be late.
    expect(await secondsOf(() => sidecar.stop())).toBeLessThan(4.5);
    expect(logger.at('error')).toMatchObject([
      {
        message: 'the stop gave up waiting for unfinished work',
        details: { running: [expect.stringContaining(culprit)] },
      },
      {
        message: 'the stop gave up waiting for something to close',
        details: { running: [expect.stringContaining(culprit)] },
      },
    ]);
  });
});

test.concurrent('a component that opens after the stop has given it up is closed then, and nothing else is opened', async () => {
  const logger = new RecordingLogger();
  const slow = memoryPubSub('slow');
  const [opens, closes] = [gate(), gate()];
  let isNextOpened = false;
  const late: PubSubDefinition = {
    ...slow,
    open: async (context) => {
      await opens.opened;
      const component = await slow.open(context);
      const close = async (): Promise<void> => closes.open();
      return { publish: (messages) => component.publish(messages), subscribe: (it) => component.subscribe(it), close };
    },
  };
  const next: PubSubDefinition = {
    ...memoryPubSub('next'),
    open: async () => {
      isNextOpened = true;
      throw new Error('opened');
    },
  };
  const clock = virtualClock({ gracePeriod: 300 });
  const sidecar = new Sidecar({ appId: 'shop', clock, logger, components: [late, next] });
  const started = sidecar.start();
  await sidecar.stop();
  await started;
  expect(logger.at('error')).toMatchObject([
    { message: 'the stop gave up waiting for something to open', details: { opening: 'component slow' } },
  ]);
  opens.open();
  await closes.opened;
  expect(isNextOpened).toBe(false);
});

test.concurrent('an answer that is streamed and never ends is named by the stop that breaks it off', async () => {
  const logger = new RecordingLogger();
  const fetch = (): Response =>
    new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('x')) }));
  const options = { appId: 'shop', clock: virtualClock({ gracePeriod: 300 }), logger, app: { fetch } };
  const sidecar = new Sidecar(options);
  await sidecar.start();
  const { body } = await sidecar.handle(request('GET', '/v1.0/invoke/shop/method/report?of=today'));
  const read = (async () => {
    for await (const _ of body as AsyncIterable<Uint8Array>);
  })().catch((error: unknown) => String(error));
  await sidecar.stop();
  expect(givenUpOn(logger)).toEqual(['answer to GET /v1.0/invoke/shop/method/report']);
  expect(await read).toContain('the sidecar has stopped');
});

describe('a stop on a virtual clock', () => {
  test('logs nothing of the kind when all has ended', async () => {
    const logger = new RecordingLogger();
    const sidecar = new Sidecar({ appId: 'shop', clock: virtualClock(), logger, stopTimeout: 0 });
    await sidecar.start();
    await sidecar.stop();
    expect(logger.at('error')).toEqual([]);
  });

  test('waits as long as it was told, and after a wait in vain no longer', async () => {
    const clock = virtualClock({ gracePeriod: 300 });
    const work = { running: (): readonly string[] => ['something'] };
    clock.watch(work);
    const seconds = await secondsOf(() => expect(clock.settled()).rejects.toThrow('not settled after 300 ms'));
    expect(seconds).toBeLessThan(1);
    expect(clock.realGracePeriodMs).toBe(100);
  });

  test.each([-1, Number.NaN])('is not told to wait %d ms', (gracePeriodMs) => {
    expect(() => virtualClock({ gracePeriod: gracePeriodMs })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
    );
  });
});
