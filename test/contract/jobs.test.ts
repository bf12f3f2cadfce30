import { describe, expect, test } from 'vitest';
import { defineJob } from '../../src/index.ts';
import { NEVER, RecordingApp } from '../support/app.ts';
import { freePort, listen } from '../support/http.ts';
import { WAYS } from '../support/served.ts';
import { startWorld, type World, type WorldOptions } from '../support/world.ts';

const JOBS = '/v1.0-alpha1/jobs';
const headers = { 'content-type': 'application/json' };

const jobsWorld = (options: WorldOptions = {}): Promise<World> => startWorld({ discovery: [], ...options });
const schedule = (world: World, name: string, body: unknown, base = JOBS) =>
  world.send('POST', `${base}/${name}`, { headers, body });

describe('jobs: schedule', () => {
  test.each<[what: string, body: unknown]>([
    ['cron', { schedule: '1 2 3 4 5 6' }],
    ['period', { schedule: '@daily' }],
    ['@every', { schedule: '@every 1h30m' }],
    ['zone', { schedule: 'CRON_TZ=Europe/Rome 0 30 2 * * mon-fri' }],
    ['dueTime duration', { dueTime: '10s' }],
    ['dueTime instant', { dueTime: '2026-02-01T10:00:00+01:00' }],
    ['dueTime local', { dueTime: '2026-02-01T10:00:00' }],
    ['dueTime ISO 8601', { dueTime: 'P1DT2H' }],
    [
      'all',
      {
        schedule: '@daily',
        dueTime: '10s',
        repeats: 3,
        ttl: '240h',
        data: {},
        overwrite: false,
        failure_policy: { drop: {} },
      },
    ],
    ['snake case', '{"due_time":"1h","failure_policy":{"constant":{"max_retries":1,"interval":"200ms"}}}'],
    ['camel case', { dueTime: '1h', failurePolicy: { constant: { maxRetries: 1, interval: '0.2s' } } }],
    [
      'null is unset',
      { schedule: null, dueTime: '1h', ttl: null, repeats: null, overwrite: null, failure_policy: null, name: null },
    ],
    ['null retries', { dueTime: '1h', failure_policy: { constant: { max_retries: null, interval: null } } }],
    ['unknown keys', { dueTime: '1h', colour: 'blue', failure_policy: { constant: { x: 1 } } }],
    ['repeats 1 without a schedule', { dueTime: '1h', repeats: 1 }],
    ['most repeats', { schedule: '@daily', repeats: 2 ** 31 - 1 }],
    ['past', { dueTime: '2001-01-01T00:00:00Z' }],
  ])('204 without a body: %s', async (_what, body) => {
    await using world = await jobsWorld();
    const answer = await schedule(world, 'job', body);
    expect([answer.status, answer.text]).toEqual([204, '']);
  });

  const MALFORMED = 'ERR_MALFORMED_REQUEST';
  const INVALID = 'SIDECAR_SCHEDULER_SCHEDULE_JOB';
  const EMPTY = 'SIDECAR_SCHEDULER_SCHEDULE_EMPTY';
  test.each<[body: unknown, code: string, named: string]>([
    ['', MALFORMED, 'not JSON'],
    ['{', MALFORMED, 'not JSON'],
    ['{"dueTime":"1s"} x', MALFORMED, 'not JSON'],
    [Buffer.from([0x22, 0xff, 0x22]), MALFORMED, 'UTF-8'],
    ['[{}]', MALFORMED, 'an array'],
    ['"x"', MALFORMED, 'string'],
    ['null', MALFORMED, 'object'],
    ['{}', EMPTY, 'neither schedule nor dueTime'],
    [{ schedule: null, dueTime: null }, EMPTY, 'neither'],
    [{ data: 1 }, EMPTY, 'neither'],
    [{ name: 'test' }, 'SIDECAR_SCHEDULER_JOB_NAME', 'name'],
    [{ name: '', dueTime: '1s' }, 'SIDECAR_SCHEDULER_JOB_NAME', 'name'],
    [{ schedule: 5 }, MALFORMED, 'schedule must be string'],
    [{ dueTime: 5 }, MALFORMED, 'dueTime must be string'],
    [{ schedule: '@daily', ttl: 5 }, MALFORMED, 'ttl must be string'],
    [{ dueTime: '1s', overwrite: 'true' }, MALFORMED, 'overwrite must be boolean'],
    [{ schedule: 'test', repeats: -1 }, MALFORMED, 'repeats must be >= 1'],
    [{ schedule: '@daily', repeats: 0 }, MALFORMED, 'repeats must be >= 1'],
    [{ schedule: '@daily', repeats: 1.5 }, MALFORMED, 'repeats must be integer'],
    [{ schedule: '@daily', repeats: '3' }, MALFORMED, 'repeats must be integer'],
    [{ schedule: '@daily', repeats: 2 ** 31 }, MALFORMED, 'repeats must be <= 2147483647'],
    ['{"dueTime":"1s","due_time":"1s"}', MALFORMED, 'both dueTime and due_time'],
    ['{"dueTime":"1s","failurePolicy":{"drop":{}},"failure_policy":null}', MALFORMED, 'both failurePolicy and'],
    [{ dueTime: '1s', failure_policy: {} }, MALFORMED, 'exactly one of constant and drop'],
    [{ dueTime: '1s', failure_policy: { drop: null } }, MALFORMED, 'exactly one'],
    [{ dueTime: '1s', failure_policy: { drop: {}, constant: {} } }, MALFORMED, 'drop and constant'],
    [{ dueTime: '1s', failure_policy: { other: {} } }, MALFORMED, 'other'],
    [{ dueTime: '1s', failure_policy: 'drop' }, MALFORMED, 'failurePolicy must be object'],
    [{ dueTime: '1s', failure_policy: { drop: true } }, MALFORMED, 'drop must be object'],
    [{ dueTime: '1s', failure_policy: { constant: [] } }, MALFORMED, 'constant must be object'],
    [{ dueTime: '1s', failure_policy: { constant: { max_retries: -1 } } }, MALFORMED, 'maxRetries must be >= 0'],
    ['{"dueTime":"1s","failurePolicy":{"constant":{"maxRetries":1,"max_retries":1}}}', MALFORMED, 'both maxRetries'],
    [{ dueTime: '1s', failure_policy: { constant: { interval: 1 } } }, MALFORMED, 'interval must be string'],
    [{ dueTime: '1s', failure_policy: { constant: { interval: '-1s' } } }, INVALID, 'interval is "-1s"'],
    [{ dueTime: '1s', failure_policy: { constant: { interval: 'soon' } } }, INVALID, 'interval is "soon"'],
    [{ dueTime: '1s', failure_policy: { constant: { interval: '2562048h' } } }, INVALID, '0 to 292 years'],
    [{ schedule: '' }, INVALID, 'schedule ""'],
    [{ schedule: '* * * * *' }, INVALID, 'expected 6 fields'],
    [{ schedule: 'TZ=Mars/Olympus @daily' }, INVALID, 'Mars/Olympus'],
    [{ schedule: 'CRON_TZ=UTC @every 1s' }, INVALID, '@every'],
    [{ schedule: '0 0 0 30 2 *' }, INVALID, 'never'],
    [{ schedule: '0 0 0 30 2 *', dueTime: '1s' }, INVALID, 'never'],
    [{ dueTime: 'tomorrow' }, INVALID, 'dueTime "tomorrow"'],
    [{ dueTime: '' }, INVALID, 'dueTime ""'],
    [{ schedule: '@daily', ttl: 'R3/PT1S' }, INVALID, 'ttl "R3/PT1S"'],
    [{ dueTime: '1s', repeats: 2 }, INVALID, 'repeats is 2'],
    [{ dueTime: '1s', ttl: '2s' }, INVALID, 'ttl "2s" without a schedule'],
    [{ schedule: '@daily', dueTime: '20s', ttl: '10s' }, INVALID, 'ttl "10s"'],
    [{ schedule: '@daily', dueTime: '20s', ttl: '20s' }, INVALID, 'ttl "20s"'],
  ])('400 for %j: %s', async (body, code, named) => {
    await using world = await jobsWorld();
    const answer = await schedule(world, 'job', body);
    expect(answer.error).toEqual([400, code]);
    expect(answer.json['message']).toContain(named);
    expect((await world.send('GET', `${JOBS}/job`)).status).toBe(500);
  });

  test('409 for a name that is taken, which leaves the old job untouched; overwrite replaces it', async () => {
    await using world = await jobsWorld();
    expect((await schedule(world, 'job', { due_time: '1h', overwrite: true, data: 1 })).status).toBe(204);
    const taken = await schedule(world, 'job', { due_time: '2h', data: 2 });
    expect(taken.error).toEqual([409, 'SIDECAR_SCHEDULER_SCHEDULE_JOB']);
    expect((await schedule(world, 'job', { due_time: '2h', overwrite: false })).status).toBe(409);
    expect((await world.send('GET', `${JOBS}/job`)).json).toEqual({ name: 'job', dueTime: '1h', data: 1 });
    expect((await schedule(world, 'job', { due_time: '2h', overwrite: true })).status).toBe(204);
    expect((await world.send('GET', `${JOBS}/job`)).json).toEqual({ name: 'job', dueTime: '2h' });
  });

  const MIB = 1024 * 1024;
  test.each([
    ['the most', 6 * MIB - 2, 204],
    ['one byte more', 6 * MIB - 1, 413],
    ['more than the store takes', 9 * MIB, 413],
  ])('data with a raised bodyLimitBytes: %s: %i characters: %i', async (_what, length, status) => {
    await using world = await jobsWorld({ bodyLimitBytes: 16 * MIB });
    const answer = await schedule(world, 'job', { dueTime: '1h', data: 'x'.repeat(length) });
    expect(answer.status).toBe(status);
    if (status === 204) return;
    expect(answer.json).toEqual({
      errorCode: 'ERR_BODY_TOO_LARGE',
      message: `the data of the job has ${length + 2} bytes: at most 6291456 bytes are accepted`,
    });
    expect((await world.send('GET', `${JOBS}/job`)).status).toBe(500);
  });

  test('data in code has the same limit, also in a definition', async () => {
    await using world = await jobsWorld();
    const { jobs } = world.sidecar;
    const data = 'ä'.repeat(3 * MIB);
    const error = { code: 'ERR_BODY_TOO_LARGE', status: 413, message: expect.stringContaining('the data of the job') };
    await expect(jobs.schedule('job', { dueTime: '1h', data })).rejects.toMatchObject(error);
    const recurring = defineJob('job', { schedule: '@daily', data }, () => undefined);
    expect(() => jobs.register(recurring)).toThrow(expect.objectContaining(error));
    await jobs.schedule('job', { dueTime: '1h', data: data.slice(1) });
  });

  const methods = ['POST', 'GET', 'DELETE'] as const;
  const bad = [
    '%20',
    'a%2Fb',
    'a%5Cb',
    'a%23',
    'a%3F',
    'a%00',
    'a%0A',
    'a%7F',
    'a%C2%85',
    '%20a',
    'a%20',
    '%2E',
    '%2E%2E',
    'a'.repeat(257),
    '%C3%A4'.repeat(129),
  ];
  test.each(methods.flatMap((method) => bad.map((name) => [method, name] as const)))(
    '400 for %s of the bad name %s',
    async (method, name) => {
      await using world = await jobsWorld();
      const sent = method === 'POST' ? { headers, body: { dueTime: '1s' } } : {};
      const answer = await world.send(method, `${JOBS}/${name}`, sent);
      const operation = { POST: 'SCHEDULE_JOB', GET: 'GET_JOB', DELETE: 'DELETE_JOB' }[method];
      expect(answer.error).toEqual([400, `SIDECAR_SCHEDULER_${name === '%20' ? 'JOB_NAME_EMPTY' : operation}`]);
    },
  );

  test.each([
    'my||job@name',
    'a%20b',
    'A.b-c_d',
    '...',
    '%C3%A4%F0%9F%9A%80',
    'a'.repeat(256),
    '__proto__',
    '100%25',
    'a+b',
  ])('the good name %s is scheduled, read, delivered and deleted', async (name) => {
    await using world = await jobsWorld();
    expect((await schedule(world, name, { dueTime: '1s', data: 1 })).status).toBe(204);
    expect((await world.send('GET', `${JOBS}/${name}`)).json['name']).toBe(decodeURIComponent(name));
    await world.clock.advance('1s');
    expect(world.deliveries.map(({ path }) => decodeURIComponent(path))).toEqual([`/job/${decodeURIComponent(name)}`]);
    expect((await world.send('DELETE', `${JOBS}/${name}`)).status).toBe(204);
  });

  test.each(['', '/'])('without a name 400: jobs%s', async (end) => {
    await using world = await jobsWorld();
    expect((await world.send('GET', `${JOBS}${end}`)).error).toEqual([400, 'SIDECAR_SCHEDULER_JOB_NAME_EMPTY']);
  });

  test('errors carry details', async () => {
    await using world = await jobsWorld();
    expect((await schedule(world, 'job', {})).json['details']).toEqual([
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        domain: 'insidecar',
        metadata: { appID: 'shop', namespace: 'default' },
        reason: 'SIDECAR_SCHEDULER_SCHEDULE_EMPTY',
      },
    ]);
  });

  test('other methods 405, before the start 500', async () => {
    await using world = await jobsWorld();
    const answer = await world.send('PUT', `${JOBS}/job`);
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, GET, DELETE, HEAD']);
  });
});

describe('jobs: get and delete', () => {
  test('a read answers what was set, as it was set, data to the last digit', async () => {
    await using world = await jobsWorld();
    const body = `{"ttl": "100h", "schedule":"@every 1m","repeats":3, "dueTime":"10s",
      "data": {"b": 12345678901234567890.10, "a": [1e400, "\\u00e4"]},
      "failure_policy":{"constant":{"interval":"3s","max_retries":5}}}`;
    await schedule(world, 'job', body);
    const answer = await world.send('GET', `${JOBS}/job`);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json']);
    expect(answer.text).toBe(
      '{"name":"job","schedule":"@every 1m","repeats":3,"dueTime":"10s","ttl":"100h",' +
        '"data":{"b": 12345678901234567890.10, "a": [1e400, "\\u00e4"]},' +
        '"failure_policy":{"constant":{"max_retries":5,"interval":"3s"}}}',
    );
  });

  test('data null is data, absent data is absent', async () => {
    await using world = await jobsWorld();
    await schedule(world, 'null', { dueTime: '1h', data: null });
    await schedule(world, 'none', { dueTime: '1h' });
    expect((await world.send('GET', `${JOBS}/null`)).json).toEqual({ name: 'null', dueTime: '1h', data: null });
    expect((await world.send('GET', `${JOBS}/none`)).json).toEqual({ name: 'none', dueTime: '1h' });
  });

  test('reading a missing job 500, deleting it 204', async () => {
    await using world = await jobsWorld();
    expect((await world.send('GET', `${JOBS}/none`)).error).toEqual([500, 'SIDECAR_SCHEDULER_GET_JOB']);
    const removed = await world.send('DELETE', `${JOBS}/none`);
    expect([removed.status, removed.text]).toEqual([204, '']);
  });

  test('a deleted job is gone and does not run', async () => {
    await using world = await jobsWorld();
    await schedule(world, 'job', { schedule: '@every 1s' });
    await world.clock.advance('2s');
    expect((await world.send('DELETE', `${JOBS}/job`)).status).toBe(204);
    expect((await world.send('GET', `${JOBS}/job`)).status).toBe(500);
    await world.clock.advance('1m');
    expect(world.deliveries.length).toBe(2);
  });
});

describe.each(WAYS)('jobs: trigger, application via %s', (via) => {
  const shapes = [
    '{"a":{"b":[1,2.50]}}',
    '"text"',
    '12345678901234567890',
    'true',
    'null',
    '[]',
    '{ "spaced" : 1 }',
    '"\\ud83d\\ude80 🚀"',
  ];
  test.each(shapes)('POST /job/<name> with data as it was sent: %s', async (data) => {
    await using world = await jobsWorld({ via, appToken: 'secret' });
    await schedule(world, 'job', `{"dueTime":"0s","data":${data}}`);
    await world.clock.settled();
    const [trigger] = world.deliveries;
    expect([trigger?.method, trigger?.path, trigger?.text]).toEqual(['POST', '/job/job', data]);
    expect(trigger?.headers).toMatchObject({ 'content-type': 'application/json', 'sidecar-api-token': 'secret' });
  });

  test('without data the body is empty', async () => {
    await using world = await jobsWorld({ via });
    await schedule(world, 'job', { dueTime: '0s' });
    await world.clock.settled();
    expect(world.deliveries.map(({ text, headers: got }) => [text, got['content-type']])).toEqual([
      ['', 'application/json'],
    ]);
  });

  test.each<[status: number, calls: number]>([
    [200, 1],
    [204, 1],
    [404, 1],
    [302, 4],
    [400, 4],
    [500, 4],
  ])('reply %i: %i calls with the default policy', async (status, calls) => {
    await using world = await jobsWorld({ via, answer: () => ({ status, headers: { location: '/elsewhere' } }) });
    await schedule(world, 'job', { dueTime: '1s' });
    await world.clock.advance('1m');
    expect(world.deliveries.length).toBe(calls);
    expect((await world.send('GET', `${JOBS}/job`)).status).toBe(500);
    if (status === 404) expect(world.logger.at('error')[0]?.details).toEqual({ job: 'job', status: 404 });
  });

  test.each([1, 2, 3])('the default policy stops at the first success: after %i failures', async (failures) => {
    await using world = await jobsWorld({ via, answer: (_got, nth) => ({ status: nth <= failures ? 500 : 200 }) });
    await schedule(world, 'job', { dueTime: '1s' });
    await world.clock.advance('1m');
    expect(world.deliveries.length).toBe(failures + 1);
  });

  test('no answer within 60 s fails the attempt', async () => {
    await using world = await jobsWorld({ via, answer: (_got, nth) => (nth === 1 ? NEVER : undefined) });
    await schedule(world, 'job', { dueTime: '1s' });
    await world.clock.advance('60s');
    expect(world.deliveries.length).toBe(1);
    await world.clock.advance('3s');
    expect(world.deliveries.length).toBe(2);
  });

  test('wire dapr: a run has no time limit by default, as in daprd', async () => {
    await using world = await jobsWorld({ via, wire: 'dapr', answer: () => NEVER });
    await schedule(world, 'job', { dueTime: '1s' });
    await world.clock.advance('24h');
    expect(world.deliveries.length).toBe(1);
  });

  test('the log says where the time limit of a run can be changed', async () => {
    await using world = await jobsWorld({ via, answer: (_got, nth) => (nth === 1 ? NEVER : undefined) });
    await schedule(world, 'job', { dueTime: '1s' });
    await world.clock.advance('62s');
    expect(world.logger.at('warn')[0]?.details).toMatchObject({
      reason: 'no answer within 60000 ms',
      remedy: 'the limit is jobs.timeout (insidecar run: --job-timeout); 0 is no limit',
    });
  });

  test('repeats 2: two triggers; @every 1s with ttl 3s: three', async () => {
    await using world = await jobsWorld({ via });
    await schedule(world, 'twice', { schedule: '@every 1s', repeats: 2 });
    await schedule(world, 'short', { schedule: '@every 1s', ttl: '3s' });
    await world.clock.advance('1m');
    expect([world.at('/job/twice').length, world.at('/job/short').length]).toEqual([2, 3]);
  });

  test('a schedule with a zone fires by the clock of the zone', async () => {
    await using world = await jobsWorld({ via });
    await schedule(world, 'tokyo', { schedule: 'CRON_TZ=Asia/Tokyo 0 0 12 * * *' });
    await world.clock.advance('2h59m59s');
    expect(world.deliveries.length).toBe(0);
    await world.clock.advance('1s');
    expect(world.deliveries.length).toBe(1);
  });
});

describe('jobs: the application is away', () => {
  test('jobs wait while it does not listen, no attempt is counted, and they run once it does', async () => {
    const port = await freePort();
    await using world = await startWorld({ app: { port } });
    await schedule(world, 'once', { dueTime: '1s', failure_policy: { drop: {} } });
    await schedule(world, 'often', { schedule: '@every 1s' });
    await world.clock.advance('10s');
    const app = new RecordingApp([{ body: '[]' }], () => undefined);
    await using _server = await listen(app.listener, port);
    while (app.at('/job/often').length === 0) await world.clock.advance('100ms');
    expect([app.at('/job/once').length, app.at('/job/often').length]).toEqual([1, 1]);
  });

  test('a connection that cannot be made any more is no attempt', async () => {
    const port = await freePort();
    const app = new RecordingApp([{ body: '[]' }], () => undefined);
    const first = await listen(app.listener, port);
    await using world = await startWorld({ app: { port } });
    await first[Symbol.asyncDispose]();
    const attempts: number[] = [];
    world.sidecar.events.on('jobCompleted', ({ attempt }) => attempts.push(attempt));
    await schedule(world, 'once', { dueTime: '1s', failure_policy: { drop: {} } });
    await world.clock.advance('10s');
    expect((await world.send('GET', `${JOBS}/once`)).status).toBe(200);
    expect(world.logger.at('warn').map(({ message }) => message)).toContain(
      'the application cannot be reached: jobs wait for it',
    );
    await using _server = await listen(app.listener, port);
    while (attempts.length === 0) await world.clock.advance('1s');
    expect([attempts, app.at('/job/once').length]).toEqual([[1], 1]);
  });

  test('a connection that breaks after the request is a failed attempt', async () => {
    let calls = 0;
    await using server = await listen((req, res) => {
      if (req.method === 'GET') return void res.end('[]');
      calls++;
      req.socket.destroy();
    });
    await using world = await startWorld({ app: { port: server.port } });
    await schedule(world, 'once', { dueTime: '1s' });
    await world.clock.advance('1m');
    expect(calls).toBe(4);
  });
});

describe('jobs: wire dapr', () => {
  const dapr = (): Promise<World> => jobsWorld({ wire: 'dapr' });

  test.each(['/v1.0/jobs', JOBS])('answers under %s', async (base) => {
    await using world = await dapr();
    expect((await schedule(world, 'job', { dueTime: '1h' }, base)).status).toBe(204);
    expect((await world.send('GET', `${base}/job`)).status).toBe(200);
    expect((await world.send('DELETE', `${base}/job`)).status).toBe(204);
  });

  test('the stable path is no route of the sidecar wire', async () => {
    await using world = await jobsWorld();
    expect((await schedule(world, 'job', { dueTime: '1h' }, '/v1.0/jobs')).status).toBe(404);
  });

  test('@every 0s with repeats means now, one run after the other', async () => {
    await using world = await dapr();
    expect((await schedule(world, 'burst', { schedule: '@every 0s', repeats: 3 })).status).toBe(204);
    await world.pass('1s');
    expect(world.deliveries.filter(({ path }) => path === '/job/burst')).toHaveLength(3);
    expect((await world.send('GET', `${JOBS}/burst`)).status).toBe(500);
  });

  test('the first run of @every 0s waits for nothing, the job shows what was set', async () => {
    await using world = await jobsWorld({ wire: 'dapr', answer: () => NEVER });
    await schedule(world, 'burst', { schedule: '@every 0s', repeats: 2 });
    await world.received(1);
    expect((await world.send('GET', `${JOBS}/burst`)).json).toMatchObject({ schedule: '@every 0s', repeats: 2 });
  });

  test('@every 0s without repeats would never rest, and is refused', async () => {
    await using world = await dapr();
    const answer = await schedule(world, 'burst', { schedule: '@every 0s' });
    expect([answer.status, answer.json['message']]).toEqual([400, expect.stringContaining('@every 0s is too short')]);
  });

  test('@every 0s is refused by the sidecar wire', async () => {
    await using world = await jobsWorld();
    expect((await schedule(world, 'burst', { schedule: '@every 0s', repeats: 3 })).status).toBe(400);
  });

  test('all fields round-trip in camelCase; ttl counts from dueTime', async () => {
    await using world = await dapr();
    const fields = { schedule: '@every 1m', repeats: 123, dueTime: '1000s', ttl: '123s', data: { expression: 'x' } };
    const answer = await schedule(world, 'job', {
      ...fields,
      failure_policy: { constant: { interval: '3s', max_retries: 5 } },
    });
    expect(answer.status).toBe(204);
    expect((await world.send('GET', `${JOBS}/job`)).json).toEqual({
      name: 'job',
      ...fields,
      failurePolicy: { constant: { interval: '3s', maxRetries: 5 } },
    });
  });

  test.each<[body: string, shown: object]>([
    ['{"dueTime":"1h"}', { constant: { maxRetries: 3, interval: '1s' } }],
    ['{"dueTime":"1h","failure_policy":{}}', { constant: { maxRetries: 3, interval: '1s' } }],
    ['{"dueTime":"1h","failurePolicy":{"drop":null}}', { constant: { maxRetries: 3, interval: '1s' } }],
    ['{"dueTime":"1h","failurePolicy":{"drop":{}}}', { drop: {} }],
    ['{"dueTime":"1h","failurePolicy":{"constant":{"maxRetries":"7"}}}', { constant: { maxRetries: 7 } }],
    ['{"dueTime":"1h","failurePolicy":{"constant":{}}}', { constant: {} }],
  ])('%s shows the policy %j', async (body, shown) => {
    await using world = await dapr();
    expect((await schedule(world, 'job', body)).status).toBe(204);
    expect((await world.send('GET', `${JOBS}/job`)).json['failurePolicy']).toEqual(shown);
  });

  test.each([
    ['"3"', 204],
    ['3.0', 204],
    ['1e2', 204],
    ['3.5', 400],
    ['"3.0"', 204],
    ['"1e2"', 204],
    ['"25E-1"', 400],
    ['"3.5"', 400],
    ['" 3"', 400],
    ['"3 "', 400],
    ['"+3"', 400],
    ['"-1"', 400],
    ['"007"', 400],
    ['"1e400"', 400],
    ['"0x3"', 400],
    ['""', 400],
    ['"x"', 400],
    ['-1', 400],
    ['0', 400],
  ])('repeats %s: %i', async (repeats, status) => {
    await using world = await dapr();
    expect((await schedule(world, 'job', `{"schedule":"@daily","name":"","repeats":${repeats}}`)).status).toBe(status);
  });

  test('a number as text is kept as the number', async () => {
    await using world = await dapr();
    const policy = { constant: { maxRetries: '2.0' } };
    expect((await schedule(world, 'job', { schedule: '@daily', repeats: '1e2', failurePolicy: policy })).status).toBe(
      204,
    );
    expect((await world.send('GET', `${JOBS}/job`)).json).toMatchObject({
      repeats: 100,
      failurePolicy: { constant: { maxRetries: 2 } },
    });
  });

  test.each([
    ['4294967295', 204],
    ['4294967296', 400],
  ])('repeats and maxRetries %s: %i', async (count, status) => {
    await using world = await dapr();
    const policy = `{"constant":{"maxRetries":${count}}}`;
    expect((await schedule(world, 'repeats', `{"schedule":"@daily","repeats":${count}}`)).status).toBe(status);
    expect((await schedule(world, 'retries', `{"dueTime":"1h","failurePolicy":${policy}}`)).status).toBe(status);
  });

  test('errors carry its prefix and domain; an empty body has no schedule', async () => {
    await using world = await dapr();
    const answer = await schedule(world, 'job', '');
    expect(answer.error).toEqual([400, 'DAPR_SCHEDULER_SCHEDULE_EMPTY']);
    expect(answer.json['details']).toMatchObject([{ domain: 'dapr.io', reason: 'DAPR_SCHEDULER_SCHEDULE_EMPTY' }]);
  });
});

describe('jobs: the rest of the sidecar', () => {
  test('metadata shows the scheduler', async () => {
    await using world = await jobsWorld();
    expect((await world.send('GET', '/v1.0/metadata')).json['scheduler']).toEqual({
      connected_addresses: ['in-process'],
    });
  });

  test('handlers in code go before the application', async () => {
    await using world = await jobsWorld();
    const ran: unknown[] = [];
    await world.sidecar.jobs.register(defineJob('code-*', (data, { name }) => void ran.push([name, data])));
    await schedule(world, 'code-1', { dueTime: '1s', data: { a: 1 } });
    await schedule(world, 'app-1', { dueTime: '1s' });
    await world.clock.advance('1s');
    expect([ran, world.deliveries.map(({ path }) => path)]).toEqual([[['code-1', { a: 1 }]], ['/job/app-1']]);
  });

  test('a stopping sidecar answers 503, and waits for what runs', async () => {
    const world = await jobsWorld({ answer: () => NEVER });
    await schedule(world, 'job', { dueTime: '0s' });
    const stopped = world.sidecar.stop();
    expect((await schedule(world, 'other', { dueTime: '1s' })).error).toEqual([503, 'ERR_SHUTTING_DOWN']);
    await world.clock.advance('11s');
    await stopped;
    await world[Symbol.asyncDispose]();
  });

  test('options that make no sense are refused', async () => {
    await expect(jobsWorld({ jobs: { concurrency: 0 } })).rejects.toThrow('options.jobs.concurrency must be >= 1');
    await expect(jobsWorld({ jobs: { missedTicks: 'some' as never } })).rejects.toThrow('options.jobs.missedTicks');
  });
});
