/** What may act, what is refused, what is logged, and what is never shown. */
import { request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { inspected, TOKEN, WRITE } from './inspected.ts';
import { PLACES, placed } from './places.ts';

const QUEUE = { pubsubName: 'pubsub', topic: 'orders', group: 'shop/audit' };
const bearer = { authorization: `Bearer ${TOKEN}` };

/** Every call that acts. */
const ACTS = [
  ...['messages', 'queues/redeliver', 'queues/discard', 'queues/purge', 'queues/pause', 'queues/resume'],
  ...['queues/add-group', 'queues/remove-group', 'jobs', 'jobs/run', 'jobs/pause', 'jobs/resume', 'jobs/delete'],
  ...['workflows', 'workflows/pause', 'workflows/resume', 'workflows/purge', 'workflows/terminate'],
  ...[
    'workflows/raise-event',
    'workflows/rerun',
    'workflows/terminate-all',
    'workflows/purge-all',
    'workflows/rerun-all',
  ],
];

describe.each(ACTS)('POST %s', (path) => {
  test('is refused where nobody may act, before its body is looked at', async () => {
    const readOnly = await inspected(placed('memory'), { token: TOKEN, readOnly: true });
    const { status, json } = await readOnly.post(path, 'nonsense');
    expect([status, json['message']]).toEqual([403, `you may look, but not act: POST ${path} needs the role write`]);
  });

  test('is refused to who may only look', async () => {
    const it = await inspected(placed('memory'), { authorize: () => ({ role: 'read', who: 'ann' }) });
    expect((await it.post(path, {})).status).toBe(403);
    expect(it.logger.at('info').map(({ message }) => message)).not.toContain('inspector: write');
  });

  test('is refused as the page of another origin could send it', async () => {
    const it = await inspected(placed('memory'));
    const url = `/api/v1/${path}`;
    const { 'insidecar-inspector': _own, ...plain } = WRITE;
    const headers = { ...bearer, ...WRITE };
    const refused = [
      { ...bearer, ...plain },
      { ...headers, 'insidecar-inspector': 'yes' },
      { ...headers, 'content-type': 'text/plain' },
      { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      { ...headers, 'content-type': 'application/jsonp' },
      { ...headers, 'sec-fetch-site': 'cross-site' },
      { ...headers, 'sec-fetch-site': 'same-site' },
      { ...headers, host: 'evil.example' },
    ];
    for (const one of refused) expect((await it.send('POST', url, { headers: one, body: '{}' })).status).toBe(403);
    expect((await it.send('POST', url, { headers: WRITE, body: '{}' })).status).toBe(401);
    expect((await it.send('GET', url, { headers })).status).toBe(
      ['messages', 'jobs', 'workflows'].includes(path) ? 200 : 405,
    );
    expect((await it.send('PUT', url, { headers, body: '{}' })).status).toBe(405);
  });

  test('refuses a body that is too large', async () => {
    const it = await inspected(placed('memory'), { token: TOKEN, bodyLimitBytes: 100 });
    expect((await it.post(path, JSON.stringify({ x: 'x'.repeat(100) }))).error).toEqual([413, 'ERR_BODY_TOO_LARGE']);
  });

  test('refuses unknown fields and parameters', async () => {
    const it = await inspected(placed('memory'));
    expect((await it.post(path, { other: 1 })).status).toBe(400);
    expect((await it.post(`${path}?app=other`, {})).error).toEqual([404, 'ERR_NOT_FOUND']);
  });
});

test('explaining needs no right to act', async () => {
  const it = await inspected(placed('memory'), { token: TOKEN, readOnly: true });
  const body = { pubsubName: 'pubsub', topic: 'orders', event: '{}' };
  expect((await it.post('subscriptions/explain', body)).json).toEqual({ subscriptions: [] });
  expect((await it.get('apps')).json).toMatchObject({ role: 'read' });
});

test('a body that is announced as too large is refused before it is read', async () => {
  const it = await inspected(placed('memory'));
  const { port } = new URL(it.url);
  const headers = { ...bearer, ...WRITE, 'content-length': 100 * 1024 * 1024 };
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const req = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/api/v1/jobs', headers }, (res) => {
      resolve(res.statusCode);
      req.destroy();
    });
    req.on('error', reject);
    req.write('{');
  });
  expect(status).toBe(413);
});

describe('the log', () => {
  test('tells every write: who, what, and what came of it, without data', async () => {
    const it = await inspected(placed('memory'), { authorize: () => ({ role: 'write', who: 'ann' }) });
    await it.post('queues/add-group', { queue: QUEUE });
    await it.post('messages', { pubsubName: 'pubsub', topic: 'orders', data: '"s3cret-data"' });
    await it.post('queues/purge', { queue: QUEUE });
    await it.post('jobs', { name: 'report', schedule: '@yearly', data: '"s3cret-data"' });
    await it.post('workflows', { name: 'none', input: '"s3cret-data"', instanceId: 'x' });
    await it.post('workflows/raise-event', { instanceId: 'none', name: 'go', data: '"s3cret-data"' });
    await it.post('jobs', { name: 'report', schedule: '@yearly', data: 's3cret-data' });
    await it.post('workflows/terminate-all', { instanceIds: ['a', 'b'] });
    const lines = it.logger.lines.filter(({ message }) => message.startsWith('inspector: write'));
    expect(
      lines.map(({ level, message, details: { action, who, result } }) => [level, message, action, who, result]),
    ).toEqual([
      ['info', 'inspector: write', 'queues/add-group', 'ann', { changed: true }],
      ['info', 'inspector: write', 'messages', 'ann', 'done'],
      ['info', 'inspector: write', 'queues/purge', 'ann', { count: 1 }],
      ['info', 'inspector: write', 'jobs', 'ann', { changed: true }],
      ['info', 'inspector: write', 'workflows', 'ann', 'done'],
      ['info', 'inspector: write failed', 'workflows/raise-event', 'ann', 'ERR_INSTANCE_ID_NOT_FOUND'],
      ['info', 'inspector: write failed', 'jobs', 'ann', 'ERR_BAD_REQUEST'],
      ['info', 'inspector: write', 'workflows/terminate-all', 'ann', { done: 0, hasMore: false }],
    ]);
    expect(lines[0]?.details).toMatchObject({ queue: QUEUE, remoteAddress: '127.0.0.1' });
    expect(lines.at(-1)?.details).toMatchObject({ instanceIds: 2 });
    expect(JSON.stringify(it.logger.lines)).not.toContain('s3cret');
  });

  test('is written for bodies of any shape, which are answered as bad requests', async () => {
    const it = await inspected(placed('memory'));
    const DEPTH = 50_000;
    const bodies = [
      ['workflows/terminate-all', '{"instanceIds":[{"toString":1,"valueOf":1}]}'],
      ['queues/purge', `${'{"queue":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`],
      ['queues/discard', '['.repeat(DEPTH) + ']'.repeat(DEPTH)],
    ] as const;
    for (const [path, body] of bodies) expect((await it.post(path, body)).error).toEqual([400, 'ERR_BAD_REQUEST']);
    expect(it.logger.at('error')).toEqual([]);
    expect(it.logger.at('info').map(({ message }) => message)).toEqual(bodies.map(() => 'inspector: write failed'));
  });

  test('never has the token, whatever is asked', async () => {
    const it = await inspected(placed('memory'));
    await it.get('apps');
    await it.send('GET', `/?token=${TOKEN}`);
    await it.send('GET', `/api/v1/apps?token=${TOKEN}`);
    await it.post('jobs/run', { name: TOKEN.slice(0, 3) });
    await it.post('jobs', '{');
    expect(JSON.stringify(it.logger.lines)).not.toContain(TOKEN);
  });
});

describe.each(PLACES)('masked values in %s', (place) => {
  test('are in no reply', async () => {
    const it = await inspected(placed(place));
    const { sidecar } = it;
    sidecar.metadata.set('db-password', 's3cret');
    sidecar.workflows.register('echo', async (_ctx, input: unknown) => input);
    await it.get('overview');
    await it.post('queues/add-group', { queue: QUEUE });
    const data = '{"user":{"api_key":"s3cret","name":"ann"}}';
    await it.post('messages', { pubsubName: 'pubsub', topic: 'orders', data });
    await it.post('jobs', { name: 'report', schedule: '@yearly', data });
    await it.post('workflows', { name: 'echo', instanceId: 'x', input: data });
    await sidecar.workflows.run('x').ended();
    const at = 'pubsubName=pubsub&topic=orders&group=shop/audit';
    const { messages } = (await it.get(`queues/messages?${at}`)).json as { messages: { key: string }[] };
    const recorded = (await it.get('messages')).json as { records: { key: string }[] };
    const paths = [
      ...[
        'overview',
        'messages',
        'queues',
        `queues/messages?${at}`,
        `queues/messages/one?${at}&key=${messages[0]?.key}`,
      ],
      ...[
        `messages/one?key=${recorded.records[0]?.key}`,
        'dead-letters',
        'subscriptions',
        'jobs',
        'jobs/one?name=report',
      ],
      ...[
        'workflows',
        'workflows/one?instanceId=x',
        'workflows/event?instanceId=x&index=0',
        'calls',
        'hosts',
        'settings',
      ],
    ];
    for (const path of paths) {
      const { status, text } = await it.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain('s3cret');
    }
    expect((await it.get('jobs/one?name=report')).text).toContain('ann');
    // A search does not find them either.
    expect(((await it.get('messages?text=s3cret')).json['records'] as unknown[]).length).toBe(0);
  });
});

test('settings and hosts tell about the sidecar', async () => {
  const it = await inspected({ ...placed('embedded'), apiToken: 's3cret' });
  const { json, text } = await it.get('settings');
  expect(json).toMatchObject({
    configuration: { appId: 'shop', apiToken: '***' },
    health: { isReady: true },
    breakers: [],
    metadata: { id: 'shop', components: [{ name: 'pubsub' }] },
  });
  expect(text).not.toContain('s3cret');
  const hosts = await it.get('hosts');
  expect(hosts.json).toMatchObject({ shardCount: 64, hosts: [{ appId: 'shop', isSelf: true }] });
});

test('after the stop of the sidecar, calls are answered with what is the matter', async () => {
  const it = await inspected(placed('memory'));
  await it.sidecar.stop();
  expect((await it.get('apps')).status).toBe(200);
  expect((await it.get('queues')).error).toEqual([503, 'ERR_SHUTTING_DOWN']);
  expect((await it.get('workflows')).status).toBe(503);
});
