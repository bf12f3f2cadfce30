/** Jobs over the management API. */
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../src/index.ts';
import type { JobReply, JobsReply } from '../../src/inspector/api/jobs.ts';
import { eventually } from '../../src/kit/collector.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { inspected } from './inspected.ts';
import { PLACES, placed } from './places.ts';

const PRECISE = '{"id": 12345678901234567890, "price": 1.10}';

describe.each(PLACES)('jobs in %s', (place) => {
  test('are scheduled with data digit for digit, and listed by prefix, page by page', async () => {
    const it = await inspected(placed(place));
    const daily = { schedule: '@daily', data: PRECISE };
    for (const name of ['a-1', 'a-2', 'b-1'])
      expect((await it.post('jobs', { name, ...daily })).json).toEqual({ changed: true });
    expect((await it.post('jobs', { name: 'a-1', ...daily, ifExists: 'keep' })).json).toEqual({ changed: false });
    expect((await it.post('jobs', { name: 'a-1', ...daily })).status).toBe(409);
    const { jobs } = (await it.get('jobs?prefix=a-')).json as unknown as JobsReply;
    expect(jobs.map(({ name, schedule }) => [name, schedule])).toEqual([
      ['a-1', '@daily'],
      ['a-2', '@daily'],
    ]);
    const first = (await it.get('jobs?limit=2')).json as unknown as JobsReply;
    const rest = (await it.get(`jobs?limit=2&cursor=${first.cursor}`)).json as unknown as JobsReply;
    expect([first.jobs.length, rest.jobs.map(({ name }) => name), rest.cursor]).toEqual([2, ['b-1'], undefined]);
    const { job, data } = (await it.get('jobs/one?name=a-1')).json as unknown as JobReply;
    expect([job.name, data?.value, data?.format]).toEqual(['a-1', PRECISE, 'json']);
    expect(job).not.toHaveProperty('data');
  });

  test('one tells its next instants', async () => {
    const it = await inspected({ ...placed(place), clock: virtualClock({ startAt: '2026-01-01T10:00:00Z' }) });
    const next = async (name: string) => {
      const { nextRuns } = (await it.get(`jobs/one?name=${name}`)).json as unknown as JobReply;
      return nextRuns.map((at) => new Date(at).toISOString().slice(0, 16));
    };
    const bodies = {
      daily: { schedule: 'TZ=UTC 0 30 2 * * *' },
      twice: { schedule: '@every 1h', repeats: 2 },
      once: { dueTime: '2026-01-03T00:00:00Z' },
      ending: { schedule: '@every 1h', ttl: '150m' },
      later: { schedule: '@every 1h', dueTime: '30m' },
    };
    for (const [name, body] of Object.entries(bodies))
      expect((await it.post('jobs', { name, ...body })).status).toBe(200);
    expect(await next('daily')).toEqual([2, 3, 4, 5, 6].map((day) => `2026-01-0${day}T02:30`));
    expect(await next('twice')).toEqual(['2026-01-01T11:00', '2026-01-01T12:00']);
    expect(await next('once')).toEqual(['2026-01-03T00:00']);
    expect(await next('ending')).toEqual(['2026-01-01T11:00', '2026-01-01T12:00']);
    expect(await next('later')).toEqual(['10:30', '11:30', '12:30', '13:30', '14:30'].map((at) => `2026-01-01T${at}`));
    await it.post('jobs/pause', { name: 'daily' });
    expect((await next('daily'))[0]).toBe('2026-01-02T02:30');
  });

  test('are run, paused, resumed and deleted; the answer says whether that changed anything', async () => {
    const it = await inspected(placed(place));
    const runs: unknown[] = [];
    await it.sidecar.jobs.register(defineJob('report', (data) => void runs.push(data)));
    await it.post('jobs', { name: 'report', schedule: '@yearly', data: '{"to":"board"}' });
    // Who looks at it sees its runs from then on.
    await it.get('jobs/one?name=report');
    const change = async (path: string, name = 'report') => (await it.post(`jobs/${path}`, { name })).json['changed'];
    expect(await change('run')).toBe(true);
    await eventually('it has run', () => runs.length === 1);
    expect(runs).toEqual([{ to: 'board' }]);
    const recent = async () => ((await it.get('jobs/one?name=report')).json as unknown as JobReply).recent;
    for (const deadline = performance.now() + 10_000; (await recent())[0]?.outcome !== 'done'; )
      if (performance.now() > deadline) throw new Error('the run is not told');
    expect(await recent()).toMatchObject([{ kind: 'job', jobName: 'report', attempt: 1 }]);
    expect([await change('pause'), await change('pause')]).toEqual([true, false]);
    expect([await change('resume'), await change('resume')]).toEqual([true, false]);
    expect([await change('delete'), await change('delete')]).toEqual([true, false]);
    for (const none of ['report', '__proto__']) expect(await change('run', none)).toBe(false);
    expect((await it.get('jobs/one?name=report')).error).toEqual([404, 'ERR_NOT_FOUND']);
  });
});

test.each([
  [{}, 'body.name is missing'],
  [{ name: '' }, 'body.name must NOT have fewer than 1 characters'],
  [{ name: 'a', schedule: '@daily', data: '{' }, 'body.data is not JSON text'],
  [{ name: 'a', schedule: '@daily', data: { a: 1 } }, 'body.data must be string'],
  [{ name: 'a', schedule: 'daily' }, 'schedule "daily"'],
  [{ name: 'a', schedule: '@daily', repeats: 0 }, 'body.repeats must be >= 1'],
  [{ name: 'a', schedule: '@daily', ifExists: 'x' }, 'body.ifExists must be "fail" or "keep" or "replace" or "update"'],
  [{ name: 'a', schedul: '@daily' }, 'body: unknown field "schedul"'],
])('%j is told what is wrong', async (body, message) => {
  const it = await inspected(placed('memory'));
  const { status, json } = await it.post('jobs', body);
  expect([status, json['message']]).toEqual([400, expect.stringContaining(message)]);
});
