// One life of a host of an application: publishes, schedules and starts, does what is due, and writes each
// step to standard output, which is a file. The second word is the time in microseconds, by a clock of the machine.
//   U                               the host is up
//   C <what> <ID>                   a call begins: subscribe, publish, schedule, start, note, raise, wait, tick,
//                                   count, unschedule, silence, stop
//   R <what> <ID> <result>          it has ended: `ok` or an error code
//   D <function> <message> <try>    a message is delivered
//   A <function> <message> <answer> the function has answered
//   S <function> <message>          the message is settled (event `delivered`)
//   X <function> <message>          the message was dead-lettered (event `deadLettered`)
//   T <job> <instant>               a run of a job begins
//   Z <job> <instant>               the function is done
//   J <job> <instant>               that is recorded (event `jobCompleted`)
//   Q <ID> <status> <output> <results> <events>   a workflow, when the test asks for all
//   B <counter> <token>             a turn of an actor begins
//   E <counter> <token>             its code has ended
//   G <counter> <token> <count>     what a call of it was answered
//   I <counter> <milliseconds>      how late its next tick is if that does not come, else 0
//   K <counter> <calls> <fired> <ticks>   what it has counted, when the test asks for all
//   V                               those were all
import { writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob, durablePubSub, nodeHandler, Sidecar } from 'insidecar';
import { countersOf } from './host-actors.mjs';
import { stateOf } from './host-state.mjs';
import { flow, register, resultsOf } from './host-workflows.mjs';

const setup = JSON.parse(process.env.TORTURE);
const { life, slot, hosts, hasAddress, pace, isFirst, topics, orderedTopics, ticks, tickMs } = setup;
/** What the wall clock is set ahead, in milliseconds. */
let offsetMs = 0;
const wallClock = Date.now;
Date.now = () => wallClock() + offsetMs;
const now = () => String(process.hrtime.bigint() / 1000n);
const say = (kind, ...words) => writeSync(1, `${[kind, now(), ...words].join(' ')}\n`);
const logger = {
  debug() {},
  info() {},
  warn() {},
  error: (details, message) =>
    process.stderr.write(`${message} ${JSON.stringify(details)} ${details?.error?.stack ?? ''}\n`),
};

let isResting = false;
const identity = { keys: [{ secret: 'a secret of the tests, of more than 32 bytes' }] };
const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const sidecar = new Sidecar({
  appId: 'torture',
  components: [durablePubSub('pubsub')],
  state: stateOf(setup),
  identity,
  // Kills that hit work by chance must not count as its fault.
  jobs: { missedTicks: 'all', maxCrashes: 0 },
  workflows: { maxCrashes: 0 },
  ...(hasAddress ? { address: `http://127.0.0.1:${server.address().port}` } : {}),
  logger,
});
server.on('request', nodeHandler(sidecar.peers));
const { events, jobs, pubsub, workflows } = sidecar;

events.on('messageDelivered', ({ route, messageId }) => say('S', route, messageId));
events.on('messageDeadLettered', ({ route, messageId }) => say('X', route, messageId));
events.on('jobCompleted', ({ jobName, dueAt }) => say('J', jobName, dueAt));
register(workflows);
sidecar.register(
  defineJob('*', async (_, { name, dueAt, attempt }) => {
    say('T', name, dueAt);
    await sleep(name.endsWith('3') ? 150 : Math.random() * 3);
    if (name.startsWith('j') && name.endsWith('7') && attempt === 1) throw new Error('not yet');
    say('Z', name, dueAt);
  }),
);

/** How many calls have not ended. */
let open = 0;

/** Makes a call, and tells how it ended; answers whether it was acknowledged. */
async function call(what, id, run) {
  open++;
  say('C', what, id);
  const result = await run().then(
    () => 'ok',
    (error) => error.code ?? error.name ?? 'error',
  );
  say('R', what, id, result);
  open--;
  if (result !== 'ok') await sleep(200);
  return result === 'ok';
}

/** Repeats a call, which fails while the store cannot be reached, until it is acknowledged. */
async function insist(what, id, run) {
  for (let tries = 1; !(await call(what, `${id}-${life}-${tries}`, run)); ) tries++;
}

const counters = countersOf({ sidecar, say, call, setup });

/** Receives a topic as a group. The number at the end of a message's ID says what becomes of it. */
function receive(name, topic, options, answerOf) {
  const handlers = {
    [name]: async ({ id }, { attempt }) => {
      say('D', name, id, attempt);
      const number = Number(id.split('-').at(-1));
      const answer = answerOf(number, attempt);
      await sleep(durationOf(name, number, answer));
      say('A', name, id, answer);
      return answer;
    },
  };
  const all = { retry: { delay: 20 }, ...options };
  return insist('subscribe', `${name}-${topic}`, () => pubsub.subscribe('pubsub', topic, handlers[name], all));
}

const succeeds = () => 'SUCCESS';
const failsAtFirst = (number, attempt) => (number % 7 === 3 && attempt === 1 ? 'RETRY' : 'SUCCESS');
/** So that some are always under way when a host stands still, above all such as fail then. */
const durationOf = (name, number, answer) => {
  if (name === 'main' && answer === 'RETRY') return 1_000;
  // One at a time: it must be done with them faster than all hosts publish.
  if (name === 'ordered') return number % 7 === 3 ? 50 : Math.random() * 3;
  return number % 7 === 3 || number % 13 === 4 ? 250 : Math.random() * 3;
};
const failsSometimes = (number, attempt) => (number % 11 === 5 ? 'RETRY' : failsAtFirst(number, attempt));

/** Of three hosts, two have consumers of a topic: where the third one owns a group, another stands in. */
const served = (all) => all.filter((_topic, index) => hosts === 1 || index % 3 !== slot);

let wantWork;
const workWanted = new Promise((resolve) => {
  wantWork = resolve;
});
process.on('message', (request) => {
  if (request.what === 'work') wantWork();
  if (request.what === 'clock') ({ offsetMs } = request);
  if (request.what === 'raise') void raise(request);
  if (request.what === 'rest') void rest();
  if (request.what === 'results') void tellResults();
});
// Nobody looks at what it does any more.
process.on('disconnect', () => process.exit());
process.on('SIGTERM', async () => {
  isResting = true;
  await call('stop', String(life), () => sidecar.stop());
  server.close();
  server.closeAllConnections();
  // A read that was broken off may end a little later.
  for (let waits = 0; open > 0 && waits < 100; waits++) await sleep(100);
  process.exit();
});

await sidecar.start();
for (const topic of served(topics)) {
  // It is never the message that ends the process here.
  const retry = { delay: 100, maxRetries: 2 };
  await receive('main', topic, { concurrency: 20, retry, maxCrashes: 0, deadLetterTopic: 'dead' }, failsSometimes);
  await receive('audit', topic, { group: 'audit' }, succeeds);
}
for (const topic of served(orderedTopics)) await receive('ordered', topic, { concurrency: 1 }, failsAtFirst);
await receive('dead', 'dead', {}, succeeds);
if (isFirst)
  for (let tick = 0; tick < ticks; tick++)
    await jobs.schedule(`tick-${tick}`, {
      schedule: `@every ${tickMs}ms`,
      dueTime: `${Math.floor((tick * tickMs) / ticks)}ms`,
      ifExists: 'keep',
    });
say('U');
// A message is kept for groups that exist: the first hosts begin when all of them have subscribed.
if (isFirst) await workWanted;
counters.start(insist);

/** Repeats a call, about so often per second, until the test wants rest. */
async function repeatedly(perSecond, run) {
  for (let count = 0; !isResting; count++) {
    await run(count);
    await sleep((Math.random() * 2_000) / (perSecond * pace));
  }
}

const retry = { maxRetries: 1_000, delay: '50ms', factor: 1 };
for (const topic of [...topics, ...orderedTopics])
  void repeatedly(5, (count) => {
    const id = `${topic}-${life}-${count}`;
    return call('publish', id, () => pubsub.publish('pubsub', topic, { count }, { cloudEvent: { id } }));
  });
void repeatedly(8, (count) => {
  const delayMs = Math.floor(Math.random() * 2_000);
  const dueTime = count % 2 === 0 ? `${delayMs}ms` : new Date(Date.now() + delayMs).toISOString();
  return call('schedule', `j-${life}-${count}`, () => jobs.schedule(`j-${life}-${count}`, { dueTime, retry }));
});
void repeatedly(4, (count) => {
  const instanceId = `w-${life}-${count}`;
  return call('start', instanceId, () => workflows.start(flow, count, { instanceId }));
});
// Several at a time, each of which has counters of its own.
for (let part = 0; part < (setup.counters > 0 ? 4 : 0); part++)
  void repeatedly(2, (count) => counters.count(count * 4 + part));

/** Raises two events that nobody waits for and then the awaited one, all without waiting: they come in this order. */
async function raise({ id, token }) {
  for (const note of [`${token}.1`, `${token}.2`])
    void call('note', note, () => workflows.raiseEvent(id, 'note', { token: note }));
  await call('raise', token, () => workflows.raiseEvent(id, 'go', { token, value: 10 }));
  if (Math.random() > 0.3) return;
  await call('wait', token, async () => {
    const { status, output } = await workflows.run(id).ended({ timeout: 20_000 });
    const expected = Number(id.split('-').at(-1)) + 1_111;
    if (status !== 'COMPLETED' || output !== expected) throw Object.assign(new Error(), { code: 'WRONG_RESULT' });
  });
}

async function tellResults() {
  let cursor;
  do {
    const page = await workflows.listPage({ limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    for (const { instanceId, status, output } of page.instances)
      say('Q', instanceId, status, output, ...(await resultsOf(workflows, instanceId)));
    ({ cursor } = page);
  } while (cursor !== undefined);
  await counters.tell();
  say('V');
}

async function rest() {
  isResting = true;
  for (let tick = 0; tick < ticks; tick++)
    await insist('unschedule', `tick-${tick}`, () => jobs.delete(`tick-${tick}`));
  await counters.rest(insist);
}
