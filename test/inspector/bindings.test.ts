/** Bindings over the management API: what they can do, and what became of their last events. */
import { expect, test } from 'vitest';
import { cronBinding } from '../../src/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { OwnBinding } from '../support/bindings-world.ts';
import { inspected } from './inspected.ts';

test('each with its operations; whether its events are wanted; the last accepted one and the last failure', async () => {
  const clock = virtualClock();
  const own = new OwnBinding();
  const components = [
    cronBinding('tick', { schedule: '@every 10s' }),
    own.definition('both', { options: { direction: ['output'] } }),
    new OwnBinding().definition('in', { options: { direction: ['input'] } }),
  ];
  const it = await inspected({ clock, components });
  const bindings = async () => ((await it.get('stores')).json as { readonly stores: readonly unknown[] }).stores;
  const base = { version: 'v1', block: 'bindings' };
  const tick = { ...base, name: 'tick', type: 'bindings.cron', operations: [] };
  expect(await bindings()).toEqual([
    { ...tick, input: { isRead: false } },
    { ...base, name: 'both', type: 'bindings.own', operations: ['create', 'get'] },
    { ...base, name: 'in', type: 'bindings.own', operations: [], input: { isRead: false } },
  ]);
  let fails = false;
  it.sidecar.bindings.on('tick', () => {
    if (fails) throw new Error('no paper');
  });
  await clock.advance('10s');
  await clock.settled();
  const acceptedAt = clock.now();
  expect((await bindings())[0]).toEqual({ ...tick, input: { isRead: true, acceptedAt } });
  fails = true;
  await clock.advance('10s');
  await clock.settled();
  const failed = { failedAt: clock.now(), reason: 'no paper' };
  expect((await bindings())[0]).toEqual({ ...tick, input: { isRead: true, acceptedAt, ...failed } });
  own.failure = new Error('the outside is down');
  expect((await bindings())[1]).toMatchObject({ failure: 'the outside is down' });
});
