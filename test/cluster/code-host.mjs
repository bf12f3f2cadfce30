// One host of an application, with a part of its code, until it is stopped or killed. Writes to the file that all hosts
// share, in one write each, so that the lines are in the order in which things happened, with an instant of the clock of
// the machine in milliseconds:
//   <host> B <kind> <name> <instant>   a run of a job, or an activity, begins
//   <host> E <kind> <name> <instant>   it ends well
import { existsSync, openSync, writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { defineActivity, defineJob, defineWorkflow, runUntilSignal, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { postgresqlState } from 'insidecar/postgresql';
import { redisState } from 'insidecar/redis';

const { name: host, place, log, ...code } = JSON.parse(process.env.CODE_HOST);
const { jobs = [], workflows = [], activities = [], limits = {}, lastsMs = 0 } = code;
const file = openSync(log, 'a');
const say = (...words) => writeSync(file, `${[host, ...words, Number(process.hrtime.bigint()) / 1e6].join(' ')}\n`);
const never = new Promise(() => undefined);

function stateAt(place) {
  if (place.startsWith('redis')) return redisState({ url: place });
  return place.startsWith('postgres') ? postgresqlState({ url: place }) : embeddedState(place);
}

const sidecar = new Sidecar({
  appId: 'shop',
  state: stateAt(place),
  logger: { debug() {}, info() {}, warn() {}, error: (details, message) => console.error(message, details) },
});
for (const pattern of jobs)
  sidecar.register(
    defineJob(pattern, limits, async (data, { name }) => {
      say('B', 'job', name);
      if (data?.hangsAt === host) await never;
      if (lastsMs > 0) await setTimeout(lastsMs);
      say('E', 'job', name);
    }),
  );
for (const name of workflows)
  sidecar.register(
    defineWorkflow(name, (ctx, { activity, ...input }) =>
      ctx.callActivity(activity, { ...input, name: ctx.instanceId }, { retry: { maxRetries: 1 } }),
    ),
  );
for (const activity of activities)
  sidecar.register(
    defineActivity(activity, async ({ name, hangsAt, until }) => {
      say('B', 'activity', name);
      if (hangsAt === host) await never;
      while (until !== undefined && !existsSync(until)) await setTimeout(20);
      say('E', 'activity', name);
      return `${activity} of ${name}`;
    }),
  );
if (lastsMs > 0) registerLimited();

/** A workflow whose activity is limited as the jobs are. */
function registerLimited() {
  const work = defineActivity('work', limits, async (name) => {
    say('B', 'activity', name);
    await setTimeout(lastsMs);
    say('E', 'activity', name);
  });
  sidecar.register(
    work,
    defineWorkflow('many', (ctx, names) => Promise.all(names.map((name) => ctx.callActivity(work, name)))),
  );
}
await sidecar.start();
const calls = {
  schedule: (names, options) => Promise.all(names.map((name) => sidecar.jobs.schedule(name, options))),
  begin: (id, names) => sidecar.workflows.start('many', names, { instanceId: id }).then(() => undefined),
  statusOf: async (id) => (await sidecar.workflows.get(id))?.status,
  left: async () => (await sidecar.jobs.listPage({ limit: 1_000 })).jobs.length,
  startAll: (workflow, ids, input) =>
    Promise.all(ids.map((instanceId) => sidecar.workflows.start(workflow, input, { instanceId }))).then(() => 0),
  outputs: (ids) => Promise.all(ids.map(async (id) => (await sidecar.workflows.get(id))?.output ?? null)),
};
process.on('message', async ({ call, args }) => process.send({ answer: await calls[call](...args) }));
process.send({ isReady: true });
process.on('disconnect', () => process.exit());
await runUntilSignal(sidecar);
process.exit();
