import { expect, test } from 'vitest';
import { Fleet, type Member } from '../support/fleet.ts';
import { freePort } from '../support/http.ts';

const NAMES = Array.from({ length: 60 }, (_, index) => `job-${index}`);
const namesOf = (...members: readonly Member[]): string[] =>
  members.flatMap(({ runs }) => runs.map((run) => run.split(' ')[0] ?? '')).sort();
const sorted = NAMES.toSorted();
const stored = (fleet: Fleet): Promise<readonly unknown[]> => fleet.memory.scan({ from: 'jobs!', to: 'jobs"' });
const warnings = ({ logger }: Member): readonly string[] => logger.at('warn').map(({ message }) => message);

async function leave(fleet: Fleet, member: Member): Promise<void> {
  fleet.members.splice(fleet.members.indexOf(member), 1);
  await member.stop();
}

test('jobs run on the host that has a function for them, whichever host owns their shards', async () => {
  await using fleet = new Fleet();
  const web = await fleet.join({ runsJobs: '' });
  const worker = await fleet.join();
  await fleet.pass(2);
  for (const name of NAMES) await web.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(3);
  expect([web.runs, namesOf(worker)]).toEqual([[], sorted]);
  // What comes later does not wait any more.
  for (const name of NAMES) await web.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(1);
  expect(namesOf(worker)).toEqual([...NAMES, ...NAMES].sort());
  expect([warnings(web), web.sidecar.metadata.get().unhandled]).toEqual([[], undefined]);
  expect(await stored(fleet)).toEqual([]);
});

test('they run there as well if the store does not tell of what other hosts write', async () => {
  await using fleet = new Fleet();
  const web = await fleet.join({ runsJobs: '', isApart: true });
  const worker = await fleet.join({ isApart: true });
  await fleet.pass(8);
  for (const name of NAMES) await web.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(6);
  expect([web.runs, namesOf(worker), await stored(fleet)]).toEqual([[], sorted, []]);
});

test('each of two functions runs its own jobs, also those of a schedule', async () => {
  await using fleet = new Fleet();
  const even = await fleet.join({ runsJobs: 'even-*' });
  const odd = await fleet.join({ runsJobs: 'odd-*' });
  await fleet.pass(2);
  const names = NAMES.map((name, index) => `${index % 2 === 0 ? 'even' : 'odd'}-${name}`);
  for (const name of names) await even.sidecar.jobs.schedule(name, { schedule: '@every 10s', repeats: 3 });
  await fleet.pass(33);
  for (const [member, prefix] of [
    [even, 'even-'],
    [odd, 'odd-'],
  ] as const) {
    const own = names.filter((name) => name.startsWith(prefix));
    expect(namesOf(member)).toEqual([...own, ...own, ...own].sort());
  }
  expect(await stored(fleet)).toEqual([]);
});

test('jobs that a host has taken run on another one when it stops', async () => {
  await using fleet = new Fleet();
  const web = await fleet.join({ runsJobs: '' });
  const [first, second] = [await fleet.join(), await fleet.join()];
  await fleet.pass(2);
  for (const name of NAMES) await web.sidecar.jobs.schedule(name, { schedule: '@every 10s', repeats: 4 });
  await fleet.pass(22);
  await leave(fleet, first);
  await fleet.pass(22);
  expect(namesOf(first, second)).toEqual(NAMES.flatMap((name) => [name, name, name, name]).sort());
  expect([web.runs, await stored(fleet), warnings(web)]).toEqual([[], [], []]);
  // Without any, they wait, and the log says so.
  await web.sidecar.jobs.schedule('late', { schedule: '@every 5s', repeats: 9 });
  await fleet.pass(7);
  await leave(fleet, second);
  await fleet.pass(12);
  expect(warnings(web).filter((text) => text.includes('nobody handles it'))).toHaveLength(1);
});

test('a host that stood still while it ran jobs of others records nothing when it wakes', async () => {
  await using fleet = new Fleet();
  const web = await fleet.join({ runsJobs: '' });
  const worker = await fleet.join();
  await fleet.pass(2);
  const ends: (() => void)[] = [];
  worker.onRun = () => new Promise<void>((resolve) => ends.push(resolve));
  for (const name of NAMES.slice(0, 20)) await web.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(3);
  const begun = namesOf(worker);
  expect(begun).toHaveLength(20);
  const other = await fleet.join();
  await fleet.pass(3);
  worker.store.pause();
  for (const end of ends) end();
  await fleet.pass(20, [web, other]);
  expect(namesOf(other)).toEqual(begun);
  expect(await stored(fleet)).toEqual([]);
  worker.store.resume();
  await worker.clock.settled();
  await fleet.pass(3);
  expect(await stored(fleet)).toEqual([]);
  expect(worker.logger.at('error')).toEqual([]);
});

test('jobs that no host can run wait, with one warning each, until one can', async () => {
  await using fleet = new Fleet();
  const [first, second] = [await fleet.join({ runsJobs: '' }), await fleet.join({ runsJobs: '' })];
  await fleet.pass(2);
  for (const name of NAMES) await first.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(10);
  const told = [...warnings(first), ...warnings(second)].filter((text) => text.includes('nobody handles it'));
  expect(told).toHaveLength(NAMES.length);
  const before = await stored(fleet);
  await fleet.pass(60);
  expect(await stored(fleet)).toEqual(before);
  const deleted = NAMES.slice(0, 20);
  for (const name of deleted) expect(await second.sidecar.jobs.delete(name)).toBe(true);
  await second.registerJobs('*');
  await fleet.pass(3);
  expect(namesOf(second)).toEqual(NAMES.slice(20).sort());
  expect(await stored(fleet)).toEqual([]);
});

test('a job that was deleted while it was offered leaves nothing', async () => {
  await using fleet = new Fleet();
  const [first, second] = [await fleet.join({ runsJobs: '' }), await fleet.join({ runsJobs: '' })];
  await fleet.pass(2);
  for (const name of NAMES) await first.sidecar.jobs.schedule(name, { dueTime: '0s' });
  const deletions: Promise<unknown>[] = [];
  await fleet.pass(1, [first]);
  for (const name of NAMES) deletions.push(second.sidecar.jobs.delete(name));
  await fleet.pass(1);
  await Promise.all(deletions);
  await fleet.pass(8);
  expect(await stored(fleet)).toEqual([]);
});

test('a host whose function has gone gives the jobs back, and takes them again', async () => {
  await using fleet = new Fleet();
  const [web, worker, other] = [
    await fleet.join({ runsJobs: '' }),
    await fleet.join({ runsJobs: '' }),
    await fleet.join({ runsJobs: '' }),
  ];
  const registration = await worker.registerJobs('*');
  await fleet.pass(2);
  for (const name of NAMES) await web.sidecar.jobs.schedule(name, { schedule: '@every 10s', repeats: 4 });
  await fleet.pass(12);
  expect(namesOf(worker)).toEqual(sorted);
  await registration.close();
  await other.registerJobs('*');
  await fleet.pass(12);
  expect([namesOf(worker), namesOf(other)]).toEqual([sorted, sorted]);
  await fleet.pass(20);
  expect([namesOf(worker), namesOf(web, other)]).toEqual([sorted, NAMES.flatMap((name) => [name, name, name]).sort()]);
});

test('a job for which the application has no route runs where there is a function for it, if anywhere', async () => {
  await using fleet = new Fleet();
  const calls: string[] = [];
  const fetch = ({ url }: Request): Response => {
    calls.push(new URL(url).pathname);
    return new Response(null, { status: 404 });
  };
  const web = await fleet.join({ app: { fetch }, runsJobs: '' });
  const [worker, other] = [await fleet.join({ runsJobs: 'job-*' }), await fleet.join({ app: { fetch }, runsJobs: '' })];
  await fleet.pass(2);
  for (const name of NAMES) await web.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(4);
  expect([web.runs, namesOf(worker), other.runs]).toEqual([[], sorted, []]);
  const unknown = NAMES.map((name) => `no-${name}`);
  for (const name of unknown) await web.sidecar.jobs.schedule(name, { schedule: '@every 10s', repeats: 2 });
  await fleet.pass(30);
  const errors = [web, other, worker].flatMap(({ logger }) => logger.at('error').map(({ message }) => message));
  expect(errors).toEqual(
    Array(2 * unknown.length).fill('the application has no route for the job: the run counts as done'),
  );
  expect(await stored(fleet)).toEqual([]);
});

test('jobs run where the application is, while that of the owner is away', async () => {
  await using fleet = new Fleet();
  const calls: string[] = [];
  const fetch = ({ url }: Request): Response => {
    calls.push(new URL(url).pathname);
    return new Response();
  };
  const away = await fleet.join({ app: { port: await freePort() }, runsJobs: '' });
  await fleet.join({ app: { fetch }, runsJobs: '' });
  await fleet.pass(2);
  for (const name of NAMES) await away.sidecar.jobs.schedule(name, { dueTime: '0s' });
  await fleet.pass(4);
  expect(calls.filter((path) => path.startsWith('/job')).sort()).toEqual(NAMES.map((name) => `/job/${name}`).sort());
  expect(await stored(fleet)).toEqual([]);
});
