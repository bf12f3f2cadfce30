/** Code of the user's runs in no AsyncLocalStorage of a request, whatever runs it: no tenant, no open transaction. */
import { afterAll, expect, test, vi } from 'vitest';
import { MemoryStore } from '../../src/components/memory/memory-store.ts';
import { DaprWorkflowClient, WorkflowRuntime } from '../../src/dapr/index.ts';
import {
  defineActivity,
  defineJob,
  defineWorkflow,
  durablePubSub,
  type Logger,
  memoryPubSub,
  Sidecar,
  type SidecarOptions,
} from '../../src/index.ts';
import { type Clock, type PubSubDefinition, type StateDefinition, systemClock } from '../../src/kit/index.ts';
import { Requests } from '../support/requests.ts';
import { EVENTS } from '../support/sidecar.ts';

const REQUESTS = Array.from({ length: 30 }, (_none, index) => `request ${index}`);
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A component of the user's. */
function ownPubSub(requests: Requests, name: string): PubSubDefinition {
  const memory = memoryPubSub(name);
  return {
    ...memory,
    open: async (context) => {
      requests.note('component open');
      const component = await memory.open(context);
      return requests.noting('component', {
        publish: (messages) => component.publish(messages),
        subscribe: async ({ deliver, ...options }) => {
          const own = (deliveries: Parameters<typeof deliver>[0]): void =>
            deliver(deliveries.map((delivery) => requests.noting('delivery', delivery)));
          return requests.noting('subscription', await component.subscribe({ ...options, deliver: own }));
        },
        get queues() {
          return component.queues && requests.noting('queues', component.queues);
        },
        close: () => component.close(),
      });
    },
  };
}

/** A store of the user's. */
function ownState(requests: Requests): StateDefinition {
  return {
    type: 'own',
    open: async (context) => {
      requests.note('store open');
      return requests.noting('store', new MemoryStore(context));
    },
  };
}

/** A clock of the user's. */
function ownClock({ note }: Requests): Clock {
  return {
    now: () => {
      note('clock.now');
      return systemClock.now();
    },
    setTimeout: (callback, delayMs) => {
      note('clock.setTimeout');
      return systemClock.setTimeout(callback, delayMs);
    },
  };
}

/** A sidecar all of whose code of the user's notes in which request it runs. */
function noting(requests: Requests, options: Partial<SidecarOptions> = {}): Sidecar {
  const sidecar = new Sidecar({
    appId: 'shop',
    components: [ownPubSub(requests, 'own'), memoryPubSub('memory'), durablePubSub('durable')],
    state: ownState(requests),
    clock: ownClock(requests),
    logger: requests.noting('log', silent),
    ...options,
  });
  for (const name of EVENTS) sidecar.events.on(name, () => requests.note(`event ${name}`));
  return sidecar;
}

const RETRY = { maxRetries: 1, delay: 1, maxDelay: 1 };

test('messages in code: handlers, retries, dead letters, events, the log, components, stores, clocks', async () => {
  const requests = new Requests();
  const sidecar = noting(requests);
  await requests.as('starter', () => sidecar.start());
  let dead = 0;
  for (const name of ['own', 'memory', 'durable'])
    for (const concurrency of [1, 10]) {
      const topic = `orders-${concurrency}`;
      const options = { concurrency, deadLetterTopic: `dead-${concurrency}`, retry: RETRY };
      await requests.as('subscriber', () =>
        sidecar.pubsub.subscribe<string>(
          name,
          topic,
          async ({ data }, { attempt }) => {
            requests.note(`${name} ${topic} attempt ${attempt}`);
            await pause(1);
            requests.note(`${name} ${topic} goes on`);
            if (data?.endsWith('3')) throw new Error('on purpose');
          },
          options,
        ),
      );
      await sidecar.pubsub.subscribe(name, `dead-${concurrency}`, () => {
        requests.note(`${name} dead letter`);
        dead++;
      });
    }
  const publish = async (request: string): Promise<void> => {
    for (const name of ['own', 'memory', 'durable'])
      for (const topic of ['orders-1', 'orders-10']) await sidecar.pubsub.publish(name, topic, request);
  };
  await Promise.all(REQUESTS.map((request) => requests.as(request, () => publish(request))));
  // Three components, two topics, requests 3, 13 and 23.
  await vi.waitFor(() => expect(dead).toBe(18), { timeout: 10_000 });
  await requests.as('operator', () =>
    sidecar.pubsub.queues.discard({ pubsubName: 'own', topic: 'dead-1', group: 'shop' }, 'all'),
  );
  await requests.as('stopper', () => sidecar.stop());

  expect(requests.inRequests).toEqual({});
  expect(
    requests.without([
      ...['own orders-1 attempt 1', 'memory orders-10 attempt 2', 'durable orders-1 goes on', 'own dead letter'],
      ...[
        'event messagePublished',
        'event messageDelivered',
        'event messageRetrying',
        'event messageDeadLettered',
        'event sidecarStopping',
        'log.warn',
      ],
      ...['component open', 'component.publish', 'component.subscribe', 'delivery.ack', 'delivery.retry'],
      ...['subscription.close', 'component.close', 'queues.discard', 'clock.now', 'clock.setTimeout'],
      ...['store open', 'store.scan', 'store.commit', 'store.close'],
    ]),
  ).toEqual([]);
});

test('what one handler enters with enterWith does not reach the next one, nor what follows from it', async () => {
  const requests = new Requests();
  const sidecar = noting(requests);
  await sidecar.start();
  let ran = 0;
  const enters = (what: string) => (): void => {
    requests.note(what);
    ran++;
    requests.enter(`entered by ${what}`);
  };
  const activity = defineActivity('activity', enters('activity'));
  const workflow = defineWorkflow('workflow', async (ctx) => {
    enters('workflow')();
    await ctx.callActivity(activity);
  });
  sidecar.workflows.register(workflow, activity);
  await sidecar.jobs.register(defineJob('*', enters('job')));
  sidecar.events.on('messagePublished', enters('listener'));
  await sidecar.pubsub.subscribe('own', 'orders', enters('message'));
  for (let turn = 0; turn < 5; turn++) {
    await Promise.all([0, 1].map(() => sidecar.pubsub.publish('own', 'orders', turn)));
    await sidecar.jobs.schedule(`job-${turn}`, { dueTime: '0s' });
    await (await sidecar.workflows.start(workflow)).ended();
  }
  await expect.poll(() => ran).toBe(35);
  await sidecar.stop();
  expect(requests.inRequests).toEqual({});
});

test('jobs: runs, retries, events', async () => {
  const requests = new Requests();
  const sidecar = noting(requests);
  let ended = 0;
  sidecar.register(
    defineJob('*', async (_, { name, attempt }) => {
      requests.note(`job, attempt ${attempt}`);
      await pause(1);
      requests.note('job goes on');
      ended++;
      if (name.endsWith('3')) throw new Error('on purpose');
    }),
  );
  await sidecar.start();
  const job = { dueTime: '0s', retry: { maxRetries: 1, delay: '1ms', factor: 1 } } as const;
  await Promise.all(
    REQUESTS.map((request, index) => requests.as(request, () => sidecar.jobs.schedule(`job-${index}`, job))),
  );
  await expect.poll(() => ended).toBe(33);
  await requests.as('stopper', () => sidecar.stop());
  expect(requests.inRequests).toEqual({});
  expect(
    requests.without(['job, attempt 1', 'job, attempt 2', 'job goes on', 'event jobCompleted', 'event jobFailed']),
  ).toEqual([]);
});

test('workflows: code of both forms, activities, retries, children, events, continueAsNew, signals', async () => {
  const requests = new Requests();
  const { note } = requests;
  const sidecar = noting(requests);
  const step = defineActivity('step', async (_input, { attempt }) => {
    note(`activity, attempt ${attempt}`);
    await pause(1);
    note('activity goes on');
    if (attempt === 1) throw new Error('on purpose');
  });
  const endless = defineActivity('endless', async (_input, { signal }) => {
    await new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => {
        note('signal of an activity');
        resolve();
      }),
    );
  });
  const child = defineWorkflow('child', () => note('child'));
  const waiting = defineWorkflow('waiting', async (ctx) => {
    note('waiting begins');
    void ctx.callActivity(endless);
    await ctx.waitForEvent('never');
  });
  const workflow = defineWorkflow('workflow', async (ctx, round: number): Promise<void> => {
    note('workflow begins');
    await ctx.callActivity('step', undefined, {
      retry: { maxRetries: 1, delay: 1, retryIf: () => note('retryIf of an activity') === undefined },
    });
    note('workflow goes on');
    await ctx.callChild(child);
    await ctx.sleep(1);
    await ctx.waitForEvent('go');
    note('workflow got its event');
    if (round === 0) ctx.continueAsNew(1);
  });
  sidecar.workflows.register(workflow, child, waiting, step, endless);
  const runtime = new WorkflowRuntime({ sidecar });
  runtime.registerWorkflowWithName('generator', async function* (ctx): AsyncGenerator<unknown, void> {
    note('generator begins');
    yield ctx.callActivity('step');
    note('generator goes on');
  });
  await requests.as('starter', () => sidecar.start());
  const client = new DaprWorkflowClient({ sidecar });
  const run = async (id: string): Promise<void> => {
    const { workflows } = sidecar;
    await workflows.start(workflow, 0, { instanceId: id });
    await workflows.start(waiting, undefined, { instanceId: `waiting-${id}` });
    await client.scheduleNewWorkflow('generator', undefined, `generator-${id}`);
    for (const _time of [1, 2]) await workflows.raiseEvent(id, 'go');
    await workflows.run(id).ended();
    await workflows.pause(`waiting-${id}`);
    await workflows.resume(`waiting-${id}`);
    await workflows.terminate(`waiting-${id}`);
  };
  await Promise.all(REQUESTS.map((request, index) => requests.as(request, () => run(`run-${index}`))));
  await expect.poll(() => requests.without(['generator begins'])).toEqual([]);
  await requests.as('stopper', () => sidecar.stop());
  expect(requests.inRequests).toEqual({});
  expect(
    requests.without([
      ...['workflow begins', 'workflow goes on', 'workflow got its event', 'child', 'waiting begins'],
      ...[
        'activity, attempt 1',
        'activity, attempt 2',
        'activity goes on',
        'retryIf of an activity',
        'signal of an activity',
      ],
      ...['event workflowStarted', 'event workflowCompleted', 'event workflowTerminated', 'event activityStarted'],
    ]),
  ).toEqual([]);
});

test('an application in this process: invocations, streams both ways, messages, jobs, health checks, signals', async () => {
  const requests = new Requests();
  const { note } = requests;
  const fetch = async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname;
    note(`application ${path}`);
    request.signal.addEventListener('abort', () => note('signal of a request'));
    if (path === '/slow') await new Promise(() => undefined);
    const text = await request.text();
    note('application goes on');
    if (path !== '/stream') return Response.json([]);
    let left = 3;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      note('application streams');
      if (left-- === 0) controller.close();
      else controller.enqueue(Buffer.from(text.padEnd(100_000)));
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  };
  const sidecar = noting(requests, {
    app: { fetch, health: { path: '/healthz', interval: 500, timeout: 500, threshold: 1_000 } },
    subscriptions: [{ pubsubName: 'own', topic: 'orders', route: '/orders' }],
  });
  await requests.as('starter', () => sidecar.start());
  await expect.poll(() => requests.without(['event appReady'])).toEqual([]);
  const use = async (request: string): Promise<void> => {
    await sidecar.pubsub.publish('own', 'orders', request);
    await sidecar.jobs.schedule(request.replace(' ', '-'), { dueTime: '0s' });
    const reply = await sidecar.invocation.invoke('shop', 'stream', { method: 'POST', body: request });
    expect((await reply.text()).length).toBe(300_000);
    const left = new AbortController();
    const slow = sidecar.invocation.invoke('shop', 'slow', { signal: left.signal });
    setTimeout(() => left.abort(new Error('gone')), 5);
    await expect(slow).rejects.toThrow();
  };
  await Promise.all(REQUESTS.map((request) => requests.as(request, () => use(request))));
  await expect.poll(() => requests.without(['application /job/request-29'])).toEqual([]);
  await requests.as('stopper', () => sidecar.stop());
  expect(requests.inRequests).toEqual({});
  expect(
    requests.without([
      ...['application /orders', 'application /stream', 'application /healthz', 'application streams'],
      ...['application goes on', 'signal of a request', 'event invocationEnded', 'event appReady'],
    ]),
  ).toEqual([]);
});

test('the signals of handlers and jobs that a stop ends', async () => {
  const requests = new Requests();
  const sidecar = noting(requests, { stopTimeout: 20 });
  const untilAborted = (what: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      requests.note(`${what} runs`);
      signal.addEventListener('abort', () => {
        requests.note(`signal of ${what}`);
        resolve();
      });
    });
  sidecar.register(defineJob('*', (_, { signal }) => untilAborted('a job', signal)));
  await sidecar.start();
  const handle = (_event: unknown, { signal }: { signal: AbortSignal }): Promise<void> =>
    untilAborted('a message', signal);
  const subscription = await sidecar.pubsub.subscribe('own', 'orders', handle);
  await sidecar.pubsub.subscribe('own', 'others', handle, { timeout: 5 });
  await requests.as('publisher', () => sidecar.pubsub.publish('own', 'orders', 1));
  await requests.as('publisher', () => sidecar.pubsub.publish('own', 'others', 1));
  await requests.as('scheduler', () => sidecar.jobs.schedule('job', { dueTime: '0s' }));
  await expect.poll(() => requests.without(['a message runs', 'a job runs'])).toEqual([]);
  await requests.as('closer', () => subscription.close());
  await requests.as('stopper', () => sidecar.stop());
  expect(requests.inRequests).toEqual({});
  expect(requests.without(['signal of a message', 'signal of a job'])).toEqual([]);
});

test('a sidecar whose module is loaded in a request keeps nothing of it', async () => {
  vi.resetModules();
  const requests = new Requests();
  const { Sidecar: Late, memoryPubSub: lateMemory } = await requests.as('loader', () => import('../../src/index.ts'));
  const sidecar = new Late({ appId: 'shop', components: [lateMemory('memory')], logger: silent });
  sidecar.events.on('messagePublished', () => requests.note('event published'));
  await sidecar.start();
  await sidecar.pubsub.subscribe('memory', 'orders', () => requests.note('message'));
  await sidecar.pubsub.publish('memory', 'orders', 1);
  await expect.poll(() => requests.without(['message'])).toEqual([]);
  await sidecar.stop();
  expect(requests.inRequests).toEqual({});
  expect(requests.without(['event published', 'message'])).toEqual([]);
});

afterAll(() => vi.resetModules());
