import { describe, expect, test, vi } from 'vitest';
import type { NatsConnection } from '../../../src/components/jetstream/driver.ts';
import { NatsSession } from '../../../src/components/jetstream/session.ts';
import { hasNatsUrl, NatsForTests } from './nats-world.ts';

describe.skipIf(!hasNatsUrl())('a connection that has ended', () => {
  test.each([['is about to be told of'], ['is known to be gone']])(
    'and %s makes calls reject, and none throw',
    async (state) => {
      await using server = await NatsForTests.start();
      const connection = await server.raw();
      const complaints: Error[] = [];
      const session = new NatsSession(connection, 'NATS', (error) => complaints.push(error));
      const open = session.request('nobody.there.yet', '', 5_000);
      await open;
      const closing = connection.close();
      while (!connection.isClosed()) await Promise.resolve();
      if (state === 'is known to be gone') await Promise.all([closing, session.ended]);
      expect(session.isOpen).toBe(state === 'is about to be told of');
      session.publish('a', 'b');
      session.subscribe(() => undefined).subscription.unsubscribe();
      await expect(session.request('a', 'b', 5_000)).rejects.toThrow('the connection to NATS is gone');
      await expect(session.flush()).rejects.toThrow();
      expect(complaints).toEqual([]);
    },
  );

  test('an error in the handling of a message does not stop the next one', async () => {
    await using server = await NatsForTests.start();
    const connection = await server.raw();
    const complaints: Error[] = [];
    const session = new NatsSession(connection, 'NATS', (error) => complaints.push(error));
    const got: string[] = [];
    const { inbox } = session.subscribe(({ subject }) => {
      got.push(subject.slice(-1));
      if (got.length === 1) throw new Error('poison');
    });
    for (const name of ['1', '2']) session.publish(`${inbox}.${name}`, '');
    await session.flush();
    expect([got, complaints.map(({ message }) => message)]).toEqual([['1', '2'], ['poison']]);
    await session.close();
  });
});

test('a flush fails when the connection ends, and none leaves something behind for as long as it is open', async () => {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let answer: Promise<void> = Promise.resolve();
  const connection: NatsConnection = {
    publish: () => undefined,
    subscribe: () => ({ unsubscribe: () => undefined }),
    flush: () => answer,
    async *status() {},
    isClosed: () => false,
    closed: () => ended,
    close: () => ended,
  };
  const session = new NatsSession(connection, 'NATS', () => undefined);
  const waiting = vi.spyOn(session.ended, 'then');
  await session.flush();
  answer = new Promise(() => undefined);
  const hanging = session.flush();
  expect(waiting).not.toHaveBeenCalled();
  end();
  await expect(hanging).rejects.toThrow('the connection to NATS is gone');
});
