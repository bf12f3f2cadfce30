// One life of an application with a job or an activity, as the second argument says, that ends the process.
//   R <attempt>  it runs
//   F <reason>  it has failed
import { defineActivity, defineJob, defineWorkflow, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const kind = process.argv[3];
// It ends itself, perhaps at once.
say('ready');
const die = ({ attempt }) => {
  say(`R ${attempt}`);
  process.kill(process.pid, 'SIGKILL');
};
const sidecar = new Sidecar({ appId: 'crash', state: embeddedState({ path }), logger });
const activity = defineActivity('poison', (_input, context) => die(context));
const workflow = defineWorkflow('work', (context) => context.callActivity(activity));
sidecar.workflows.register(workflow, activity);
sidecar.register(defineJob('poison', (_data, context) => die(context)));
const failed = new Promise((resolve) => {
  sidecar.events.on(kind === 'job' ? 'jobFailed' : 'activityFailed', ({ reason }) => resolve(reason));
});
await sidecar.start();
if (life === '0' && kind === 'job') await sidecar.jobs.schedule('poison', { dueTime: '0s', retry: { maxRetries: 0 } });
if (life === '0' && kind === 'activity') await sidecar.workflows.start(workflow);
say(`F ${await failed}`);
await sidecar.stop();
if (!last) process.kill(process.pid, 'SIGKILL');
