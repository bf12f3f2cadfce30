// One life of an application whose operator pauses and resumes jobs and runs failed workflows again, as fast as it goes.
//   F <job> <paused|active>  how the job was found at the start of this life
//   I <job> <paused|active>  the change begins
//   D <job> <paused|active>  it is done
//   R <job>                  a run of the job begins
//   N <id>                   the rerun that makes workflow <id> was acknowledged
//   A <id> <step>            an activity of workflow <id> has run
// and in the last life
//   E <id> <status>          how the workflow ended
import { defineActivity, defineJob, defineWorkflow, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const JOBS = Array.from({ length: 8 }, (_, number) => `job-${number}`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const step = defineActivity('step', (number, { instanceId }) => {
  if (number === 2 && !instanceId.startsWith('again')) throw new Error('fails until it is run again');
  say(`A ${instanceId} ${number}`);
});
const flow = defineWorkflow('flow', async (ctx) => {
  for (const number of [1, 2, 3]) await ctx.callActivity(step, number);
});

// Kills that hit work by chance must not count as its fault.
const patience = { jobs: { maxCrashes: 0 }, workflows: { maxCrashes: 0 } };
const sidecar = new Sidecar({ appId: 'crash', state: embeddedState({ path }), logger, ...patience });
const { jobs, workflows } = sidecar;
workflows.register(step, flow);
sidecar.register(defineJob('job-*', (_, { name }) => say(`R ${name}`)));
await sidecar.start();
for (const name of JOBS) {
  await jobs.schedule(name, { schedule: '@every 20ms', dueTime: '20ms', ifExists: 'keep' });
  say(`F ${name} ${(await jobs.get(name)).isPaused ? 'paused' : 'active'}`);
}
say('ready');

async function control(name) {
  for (;;) {
    const isPaused = Math.random() < 0.5;
    say(`I ${name} ${isPaused ? 'paused' : 'active'}`);
    await (isPaused ? jobs.pause(name) : jobs.resume(name));
    say(`D ${name} ${isPaused ? 'paused' : 'active'}`);
    await sleep(Math.random() * 40);
  }
}

async function rerun(lane) {
  for (let count = 0; ; count++) {
    const id = `${life}-${lane}-${count}`;
    await workflows.start(flow, undefined, { instanceId: id });
    await workflows.run(id).ended({ timeout: 60_000 });
    const instanceId = `again-${id}`;
    await workflows.rerun(id, { from: 'failure', instanceId });
    say(`N ${instanceId}`);
  }
}

if (last) {
  let cursor;
  do {
    const page = await workflows.listPage({ prefix: 'again', limit: 1_000, ...(cursor && { cursor }) });
    for (const { instanceId } of page.instances) {
      const { status } = await workflows.run(instanceId).ended({ timeout: 60_000 });
      say(`E ${instanceId} ${status}`);
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  await sidecar.stop();
} else await Promise.all([...JOBS.map(control), ...Array.from({ length: 16 }, (_, lane) => rerun(lane))]);
