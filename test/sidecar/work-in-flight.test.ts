import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  defineActivity,
  defineJob,
  defineWorkflow,
  durablePubSub,
  Sidecar,
  type SidecarOptions,
} from '../../src/index.ts';
import { KeptStore } from '../support/kept-store.ts';
import { RecordingLogger } from '../support/logger.ts';

/** A job that is not repeated, and a message without retries: one failure would be the end of each. */
const DROP = { dueTime: '0s', retry: { maxRetries: 0 } };
const NO_RETRIES = { maxRetries: 0 };

/** One life of a host: each piece of its work publishes something in the end. */
async function lifeOf(state: KeptStore, begun: string[], work: () => Promise<unknown>): Promise<Sidecar> {
  const sidecar = new Sidecar({
    ...{ appId: 'shop', state, components: [durablePubSub('pubsub')], stopTimeout: 5_000 },
    logger: new RecordingLogger(),
  });
  const { workflows, jobs, pubsub } = sidecar;
  const publish = async (what: string): Promise<void> => {
    begun.push(what);
    await work();
    await pubsub.publish('pubsub', 'results', what);
  };
  const activity = defineActivity('publish', () => publish('activity'));
  workflows.register(
    activity,
    defineWorkflow('flow', (ctx) => ctx.callActivity(activity)),
  );
  await jobs.register(defineJob('job', (_, { attempt }) => publish(`job, attempt ${attempt}`)));
  await sidecar.start();
  const onMessage = (_event: unknown, { attempt }: { attempt: number }): Promise<void> =>
    publish(`message, attempt ${attempt}`);
  await pubsub.subscribe('pubsub', 'orders', onMessage, { retry: NO_RETRIES });
  return sidecar;
}

describe('work that is in flight when a stop begins', () => {
  test('and that the sidecar refuses something has not failed: it is done again at the next start', async () => {
    const state = new KeptStore();
    const begun: string[] = [];
    let go = (): void => undefined;
    const stopping = new Promise<void>((resolve) => {
      go = resolve;
    });
    const first = await lifeOf(state, begun, () => stopping);
    await first.workflows.start('flow', undefined, { instanceId: 'flow' });
    await first.jobs.schedule('job', DROP);
    await first.pubsub.publish('pubsub', 'orders', 1);
    await expect.poll(() => begun.length).toBe(3);
    const stopped = first.stop();
    await sleep(1);
    go();
    await stopped;

    const again: string[] = [];
    const second = await lifeOf(state, again, async () => undefined);
    const results: unknown[] = [];
    await second.pubsub.subscribe('pubsub', 'results', ({ data }) => void results.push(data));
    const { status } = await second.workflows.run('flow').ended();
    await expect.poll(() => again.length).toBe(3);
    await second.stop();
    const all = ['activity', 'job, attempt 1', 'message, attempt 1'];
    expect([begun.sort(), again.sort(), status]).toEqual([all, all, 'COMPLETED']);
  });

  test('and that an application answers with a failure is done again, too', async () => {
    const state = new KeptStore();
    const asked: string[] = [];
    let status = 503;
    let held = Promise.resolve();
    const options: SidecarOptions = {
      ...{ appId: 'shop', state, components: [durablePubSub('pubsub')], logger: new RecordingLogger() },
      subscriptions: [{ pubsubName: 'pubsub', topic: 'orders', route: '/orders', retry: NO_RETRIES }],
      app: {
        listener: async (req, res) => {
          req.resume();
          if (req.method === 'POST') {
            asked.push(req.url ?? '');
            await held;
          }
          res.writeHead(req.method === 'POST' ? status : 404).end();
        },
      },
    };
    const first = new Sidecar(options);
    await first.start();
    let go = (): void => undefined;
    held = new Promise((resolve) => {
      go = resolve;
    });
    await first.ready();
    await first.jobs.schedule('job', DROP);
    await first.pubsub.publish('pubsub', 'orders', 1);
    await expect.poll(() => asked.length).toBe(2);
    const stopped = first.stop();
    await sleep(1);
    go();
    await stopped;
    status = 200;
    const second = new Sidecar(options);
    await second.start();
    await expect.poll(() => asked.length).toBe(4);
    await second.stop();
    expect(asked.sort()).toEqual(['/job/job', '/job/job', '/orders', '/orders']);
  });
});
