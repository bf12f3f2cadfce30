/** A host of fleet.ts: does what it is asked, and tells what it has done. */
import {
  defineActivity,
  defineJob,
  defineWorkflow,
  durablePubSub,
  type Logger,
  runUntilSignal,
  Sidecar,
} from 'insidecar';
import { postgresqlState } from 'insidecar/postgresql';
import { redisState } from 'insidecar/redis';

const [url = '', place = '', name = ''] = process.argv.slice(2);
const quiet: Logger = {
  debug() {},
  info() {},
  warn() {},
  error: (details, message) => console.error(name, message, details),
};
const state = url.startsWith('redis')
  ? redisState({ url, prefix: place })
  : postgresqlState({ url: url, schema: place });
const sidecar = new Sidecar({ appId: 'fleet', components: [durablePubSub('pubsub')], state, logger: quiet });
const tell = (kind: string, what: string, id: string): void => {
  // The one that asked may have gone.
  if (process.connected) process.send?.({ kind, what, id }, () => undefined);
};

const ship = defineActivity('ship', async (id: string) => `${id} shipped by ${name}`);
const order = defineWorkflow('order', async (ctx, id: string) => {
  const shipped = await ctx.callActivity(ship, id);
  await ctx.sleep(200);
  return shipped;
});
sidecar.workflows.register(order, ship);
sidecar.events.on('workflowCompleted', ({ instanceId }) => tell('done', 'workflow', instanceId));
sidecar.register(defineJob('*', (_, { name: job }) => tell('done', 'job', job)));
await sidecar.start();
await sidecar.pubsub.subscribe<string>('pubsub', 'orders', ({ data = '' }) => tell('done', 'message', data));

process.on('message', async ({ what, id }: { what: string; id: string }) => {
  // The host that has ended it may have been killed before it could tell.
  if (what === 'check') {
    if ((await sidecar.workflows.get(id))?.status === 'COMPLETED') tell('done', 'workflow', id);
    return;
  }
  if (what === 'message') await sidecar.pubsub.publish('pubsub', 'orders', id);
  else if (what === 'job') await sidecar.jobs.schedule(id, { dueTime: '200ms' });
  else await sidecar.workflows.start('order', id, { instanceId: id, ifExists: 'keep' });
  tell('accepted', what, `${what} ${id}`);
});
tell('up', '', name);
await runUntilSignal(sidecar);
process.exit();
