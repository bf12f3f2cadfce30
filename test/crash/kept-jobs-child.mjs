// One life of an application whose jobs, which run once, fail for good; every seventh succeeds.
//   K <job>  it was there as failed at the start of this life
//   P <job>  its schedule was acknowledged
//   R <job>  a run begins
//   E <job>  the event has said that the run has ended, which is recorded
// and in the last life
//   J <job>  what is there of it in the end, as JSON
import { defineJob, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';
import { postgresqlState } from 'insidecar/postgresql';
import { redisState } from 'insidecar/redis';
import { last, life, path, say } from './life.mjs';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const [, kind, batch, port] = process.argv.slice(2);
const state = {
  directory: () => embeddedState({ path }),
  postgresql: () => postgresqlState({ url: `postgresql://postgres@127.0.0.1:${port}/postgres` }),
  redis: () => redisState({ url: `redis://127.0.0.1:${port}` }),
}[kind]();

const failing = defineJob('job-*', async (_, { name }) => {
  say(`R ${name}`);
  await sleep(Math.random() * 10);
  if (!name.endsWith('7')) throw new Error(`no way for ${name}`);
});
// Kills that hit a run by chance must not count as its fault. The log would be nothing but the failures.
const sidecar = new Sidecar({ appId: 'crash', state, logger: 'silent', jobs: { maxCrashes: 0 } });
const { jobs } = sidecar;
let isReady = false;
function ended({ jobName }) {
  say(`E ${jobName}`);
  if (!isReady && jobName.startsWith(`job-${life}-`)) say('ready');
  isReady ||= jobName.startsWith(`job-${life}-`);
}
sidecar.events.on('jobFailed', ended);
sidecar.events.on('jobCompleted', ended);
sidecar.register(failing);
await sidecar.start();

async function areThere() {
  const there = [];
  for await (const { name, keptUntilAt } of jobs.list()) there.push({ name, isKept: keptUntilAt !== undefined });
  return there;
}

for (const { name, isKept } of await areThere()) if (isKept) say(`K ${name}`);
if (last) {
  while ((await areThere()).some(({ isKept }) => !isKept)) await sleep(100);
  const there = await Promise.all((await areThere()).map(({ name }) => jobs.get(name)));
  for (const job of there) say(`J ${JSON.stringify(job)}`);
  await sidecar.stop();
} else {
  // All at one instant, so that many of them end together.
  const dueTime = new Date(Date.now() + 300);
  const schedule = async (_, count) => {
    const name = `job-${life}-${count}`;
    // Large ones are an entry of their own.
    const data = { of: name, more: 'x'.repeat(count % 5 === 0 ? 6_000 : 0) };
    await jobs.schedule(name, { dueTime, data, retry: { maxRetries: 0 } });
    say(`P ${name}`);
  };
  await Promise.all(Array.from({ length: Number(batch) }, schedule));
}
