/** Actors over the management API. */
import { describe, expect, test } from 'vitest';
import { Actor } from '../../src/index.ts';
import type { ActorReply, ActorsReply, ReminderReply, RemindersReply } from '../../src/inspector/api/actors.ts';
import { eventually } from '../../src/kit/collector.ts';
import { inspected } from './inspected.ts';
import { PLACES, placed } from './places.ts';

/** Ends the calls of `wait`. */
let release = (): void => undefined;
const seen: string[] = [];

class Cart extends Actor<{ items: number; password: string }> {
  add(): void {
    this.state.items = (this.state.items ?? 0) + 1;
    this.state.password = 'open sesame';
    this.reminders.set('expire', { dueTime: '1h', data: { token: 'secret', n: 1 } });
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      release = resolve;
    });
  }

  override onReminder(name: string): void {
    seen.push(name);
  }
}

describe.each(PLACES)('actors in %s', (place) => {
  test('are listed, those with waiting calls first, and shown with their state, secrets hidden', async () => {
    const it = await inspected({ ...placed(place), actors: [Cart] });
    const { actors } = it.sidecar;
    for (const id of ['a', 'b', 'c']) await actors.get(Cart, id).add();
    const calls = [actors.get(Cart, 'b').wait(), actors.get(Cart, 'b').add()];
    const listed = (await it.get('actors?limit=2')).json as unknown as ActorsReply;
    expect(listed.types).toEqual([{ actorType: 'Cart', active: 3 }]);
    expect(listed.actors[0]).toEqual({ actorType: 'Cart', actorId: 'b', calls: 1, waiting: 1 });
    expect([listed.actors.length, listed.more]).toEqual([2, 1]);
    const busy = (await it.get('actors/one?type=Cart&id=b')).json as unknown as ActorReply;
    expect(busy.active).toEqual({ calls: 1, waiting: 1 });
    release();
    await Promise.all(calls);
    const shown = (await it.get('actors/one?type=Cart&id=b')).json as unknown as ActorReply;
    expect(shown.state.map(({ key, value }) => [key, value.value])).toEqual([
      ['state', '{"items":2,"password":"***"}'],
    ]);
    const none = (await it.get('actors/one?type=Cart&id=x')).json as unknown as ActorReply;
    expect(none).toEqual({ state: [], more: 0 });
    expect((await it.get('actors?type=Other')).json).toMatchObject({ actors: [], more: 0 });
    expect((await it.get('actors?limit=0')).status).toBe(400);
    expect((await it.get('actors/one?type=Cart')).status).toBe(400);
  });

  test('their reminders are listed, shown, run and deleted', async () => {
    const it = await inspected({ ...placed(place), actors: [Cart] });
    seen.length = 0;
    for (const id of ['a', 'b']) await it.sidecar.actors.get(Cart, id).add();
    const first = (await it.get('actors/reminders?type=Cart&limit=1')).json as unknown as RemindersReply;
    const next = `actors/reminders?type=Cart&limit=1&cursor=${encodeURIComponent(first.cursor ?? '')}`;
    const second = (await it.get(next)).json as unknown as RemindersReply;
    expect([...first.reminders, ...second.reminders].map(({ actorId }) => actorId)).toEqual(['a', 'b']);
    const one = 'actors/reminders/one?type=Cart&id=a&name=expire';
    const { reminder, data } = (await it.get(one)).json as unknown as ReminderReply;
    expect([reminder.name, data?.value]).toEqual(['expire', '{"token":"***","n":1}']);
    const expire = { type: 'Cart', id: 'a', name: 'expire' };
    expect((await it.post('actors/reminders/run', expire)).json).toEqual({ changed: true });
    await eventually('the reminder runs', () => seen.length === 1);
    expect((await it.post('actors/reminders/delete', expire)).json).toEqual({ changed: true });
    expect((await it.post('actors/reminders/delete', expire)).json).toEqual({ changed: false });
    expect((await it.get(one)).status).toBe(404);
    expect((await it.post('actors/reminders/run', { ...expire, id: 'a/b' })).status).toBe(400);
    expect((await it.post('actors/reminders/run', { type: 'Cart' })).status).toBe(400);
  });
});
