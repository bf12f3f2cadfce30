// One life of an application with jobs on disk: schedules as fast as it can, runs, and says what it did.
//   P <id>          the schedule of one-shot <id> was acknowledged
//   D <id> <tick>   a run began, for the instant <tick>
//   A <id> <tick>   the application is done with it
//   S <id> <tick>   that it is done is recorded
import { defineJob, isSidecarError, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { last, life, logger, path, say } from './life.mjs';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const sidecar = new Sidecar({
  appId: 'crash',
  state: embeddedState({ path }),
  logger,
  // Kills that hit a run by chance must not count as its fault.
  jobs: { missedTicks: 'all', maxCrashes: 0 },
});
sidecar.events.on('jobCompleted', ({ jobName, dueAt }) => say(`S ${jobName} ${dueAt}`));
sidecar.register(
  defineJob('*', async (_, { name, dueAt, attempt }) => {
    say(`D ${name} ${dueAt}`);
    await sleep(Math.random() * 3);
    // Every seventh one-shot fails at first, so that there are retries at any moment.
    if (name.endsWith('7') && attempt === 1) throw new Error('not yet');
    say(`A ${name} ${dueAt}`);
  }),
);
await sidecar.start();

const retry = { maxRetries: 1_000, delay: '20ms', factor: 1 };
for (const name of ['tick-a', 'tick-b']) {
  const options = { schedule: '@every 25ms', retry, data: 'x'.repeat(name === 'tick-a' ? 10 : 6_000) };
  await sidecar.jobs.schedule(name, options).catch((error) => {
    if (!isSidecarError(error) || error.status !== 409) throw error;
  });
}
say('ready');

if (last) {
  await sleep(500);
  for (const name of ['tick-a', 'tick-b']) await sidecar.jobs.delete(name);
  while ((await sidecar.jobs.listPage({ limit: 1 })).jobs.length > 0) await sleep(50);
  await sidecar.stop();
} else {
  const schedulers = Array.from({ length: 8 }, async (_, scheduler) => {
    for (let count = 0; ; count++) {
      const name = `${life}-${scheduler}-${count}`;
      await sidecar.jobs.schedule(name, { dueTime: `${Math.floor(Math.random() * 150)}ms`, retry });
      say(`P ${name}`);
      if (count % 10 === 9) await sleep(5);
    }
  });
  await Promise.all(schedulers);
}
