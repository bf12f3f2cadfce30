import { describe, expect, test } from 'vitest';
import { BrokerGroup } from '../../../src/components/broker/broker-group.ts';
import type { ComponentSubscription, ConsumerOptions, Delivery } from '../../../src/components/pubsub.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { RecordedLine, type Tag } from './recorded-line.ts';

/** A group with one consumer on a line that records. */
class Consumed {
  readonly clock = virtualClock();
  readonly deliveries: Delivery[] = [];
  readonly lines: RecordedLine[] = [];
  readonly group: BrokerGroup<Tag>;

  constructor() {
    const { clock } = this;
    this.group = new BrokerGroup<Tag>({
      open: async (options, receiver) => {
        this.lines.push(new RecordedLine(options, receiver));
        return this.line;
      },
      options: { topic: 't', group: 'g', metadata: {}, clock, logger: new RecordingLogger() },
    });
  }

  get line(): RecordedLine {
    const line = this.lines.at(-1);
    if (line === undefined) throw new Error('no line was opened');
    return line;
  }

  get ids(): string[] {
    return this.deliveries.map(({ message, attempt }) => `${message.id}:${attempt}`);
  }

  join(options: Partial<ConsumerOptions> = {}): Promise<ComponentSubscription> {
    return this.group.join({
      topic: 't',
      group: 'g',
      maxInFlight: 2,
      ordered: false,
      paused: false,
      deliver: (deliveries) => this.deliveries.push(...deliveries),
      ...options,
    });
  }
}

async function consumed(options: Partial<ConsumerOptions> = {}): Promise<Consumed & AsyncDisposable> {
  const made = new Consumed();
  const subscription = await made.join(options);
  made.line.taken();
  return Object.assign(made, { [Symbol.asyncDispose]: () => subscription.close() });
}

/** Lets what is scheduled in microtasks happen. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('the window', () => {
  test.each([
    { maxInFlight: 1, ordered: true, expected: 1 },
    { maxInFlight: 1, ordered: false, expected: 2 },
    { maxInFlight: 10, ordered: false, expected: 20 },
    { maxInFlight: 1_000, ordered: false, expected: 1_256 },
  ])('of $maxInFlight in flight, ordered $ordered, has $expected messages', async ({ expected, ...options }) => {
    await using group = await consumed(options);
    expect(group.group.room).toBe(expected);
  });

  test('is closed while the group is paused, and tells the line', async () => {
    await using group = await consumed({ paused: true });
    expect(group.group.room).toBe(0);
    const other = await group.join();
    expect(group.line.taken()).toContain('room 8');
    other.pause();
    expect(group.line.taken()).toEqual(['room 0']);
    await other.close();
  });

  test('is that of one message as long as a consumer wants one at a time, and then grows', async () => {
    await using group = await consumed({ maxInFlight: 10 });
    const ordered = await group.join({ maxInFlight: 1, ordered: true });
    const other = await group.join({ maxInFlight: 5 });
    expect(group.group.window).toBe(1);
    group.line.taken();
    await ordered.close();
    expect([group.group.window, group.line.taken()]).toEqual([30, ['room 30']]);
    await other.close();
  });

  test('tells the line once when half of it is free again', async () => {
    await using group = await consumed({ maxInFlight: 4 });
    group.line.send(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    await turn();
    expect(group.group.room).toBe(0);
    for (const delivery of group.deliveries.slice(0, 3)) await delivery.ack();
    expect(group.line.taken().filter((call) => call.startsWith('room'))).toEqual([]);
    await turn();
    for (const delivery of group.deliveries.slice(3, 6)) await delivery.ack();
    expect(group.line.taken().filter((call) => call.startsWith('room'))).toEqual(['room 4']);
  });

  test('tells the line before slots are free that messages could take', async () => {
    await using group = await consumed({ maxInFlight: 1_000 });
    group.line.send(Array.from({ length: 1_256 }, (_, index) => String(index)));
    await turn();
    group.line.taken();
    for (const delivery of group.deliveries.slice(0, 255)) await delivery.ack();
    expect(group.line.taken().filter((call) => call.startsWith('room'))).toEqual([]);
    await group.deliveries[255]?.ack();
    expect(group.line.taken().filter((call) => call.startsWith('room'))).toEqual(['room 256']);
  });

  test('does not count messages that wait for a retry', async () => {
    await using group = await consumed();
    group.line.send(['a', 'b', 'c', 'd']);
    await turn();
    for (const delivery of group.deliveries) await delivery.retry(1_000);
    expect([group.group.room, group.group.unsettled]).toEqual([4, 4]);
  });
});

describe('a retry', () => {
  test('waits in memory, and the line holds the message with the number of its deliveries', async () => {
    await using group = await consumed();
    group.line.send(['a'], { attempts: 2 });
    await turn();
    await group.deliveries[0]?.retry(1_000);
    expect(group.line.taken()).toEqual(['hold a after 3 for 1000']);
    await group.clock.advance(999);
    expect(group.ids).toEqual(['a:3']);
    await group.clock.advance(1);
    await turn();
    expect(group.ids).toEqual(['a:3', 'a:4']);
  });

  test('is left to a broker that delays messages', async () => {
    await using group = await consumed();
    group.line.delays = true;
    group.line.send(['a']);
    await turn();
    await group.deliveries[0]?.retry(1_000);
    expect(group.line.taken()).toEqual(['delay a after 1 by 1000']);
    expect(group.group.unsettled).toBe(0);
  });
});

describe('at the end', () => {
  test('reading stops before unsettled messages go back, in their order and with their deliveries', async () => {
    const made = new Consumed();
    const subscription = await made.join();
    made.line.send(['a', 'b', 'c']);
    await turn();
    await made.deliveries[0]?.retry(1_000);
    await turn();
    made.line.taken();
    await subscription.close();
    expect(made.line.taken()).toEqual(['room 0', 'stop', 'release a:1,b:1,c:1', 'close']);
  });

  test('another consumer gets the messages of one that leaves', async () => {
    await using group = await consumed();
    const got: string[] = [];
    group.line.send(['a']);
    await turn();
    const first = await group.join({
      deliver: (deliveries) => got.push(...deliveries.map(({ message }) => message.id)),
    });
    group.line.send(['b']);
    await turn();
    await first.close();
    await turn();
    expect([...got, ...group.ids]).toEqual(['b', 'a:1', 'b:2']);
    expect(group.line.taken()).not.toContain('close');
  });

  test('one line serves consumers that join at the same time, and closes once', async () => {
    const made = new Consumed();
    const [first, second] = await Promise.all([made.join(), made.join()]);
    expect(made.lines).toHaveLength(1);
    await Promise.all([first.close(), second.close()]);
    expect(made.line.taken().filter((call) => call === 'close')).toHaveLength(1);
  });
});

describe('a consumer that joins while the line closes', () => {
  test.each([
    ['', async () => {}],
    [', though that fails', () => Promise.reject(new Error('no'))],
  ])('gets nothing of that line, which it could not settle, and all of the next%s', async (_what, close) => {
    const made = new Consumed();
    const subscription = await made.join();
    const got: string[] = [];
    const released: string[] = [];
    let joined: Promise<ComponentSubscription> | undefined;
    const { line } = made;
    line.stop = async () => {
      joined = made.join({ deliver: (deliveries) => got.push(...deliveries.map(({ message }) => message.id)) });
      line.send(['a']);
      await turn();
    };
    line.release = async (entries) => {
      released.push(...entries.map(({ message, attempts }) => `${message.id}:${attempts}`));
    };
    line.close = close;
    await subscription.close().catch(() => undefined);
    const next = await joined;
    expect([got, released]).toEqual([[], ['a:0']]);
    made.line.send(['b']);
    await turn();
    expect(got).toEqual(['b']);
    await next?.close();
  });
});

describe('a redelivery that arrives at the end', () => {
  test('while reading stops: the message goes back once, by its new delivery', async () => {
    const made = new Consumed();
    const subscription = await made.join();
    made.line.send(['a', 'b'], { keyed: true });
    await turn();
    const released: unknown[] = [];
    made.line.stop = async () => {
      made.line.reconnect();
      made.line.send(['a', 'c'], { keyed: true, attempts: 1 });
    };
    made.line.release = async (entries) => {
      released.push(...entries.map(({ handle }) => handle));
    };
    await subscription.close();
    expect(released).toEqual([
      { id: 'a', connection: 2 },
      { id: 'c', connection: 2 },
    ]);
    expect([made.ids, made.group.unsettled]).toEqual([['a:1', 'b:1'], 0]);
  });

  test('while messages are returned: the next consumer does not get it, only what its own line delivers', async () => {
    const made = new Consumed();
    const subscription = await made.join();
    made.line.send(['a'], { keyed: true });
    await turn();
    const [first] = made.lines;
    if (first === undefined) throw new Error('no line was opened');
    let joined: Promise<ComponentSubscription> | undefined;
    first.release = async () => {
      joined = made.join();
      first.send(['a'], { keyed: true, attempts: 1 });
      await turn();
    };
    await subscription.close();
    const next = await joined;
    expect([made.ids, made.group.unsettled]).toEqual([['a:1'], 0]);
    made.line.send(['a'], { keyed: true, attempts: 1 });
    await turn();
    await made.deliveries[1]?.ack();
    expect(made.ids).toEqual(['a:1', 'a:2']);
    expect([first.taken(), made.line.taken()]).toEqual([
      expect.not.arrayContaining(['ack a of 1']),
      expect.arrayContaining(['ack a of 1']),
    ]);
    await next?.close();
  });
});

describe('when the connection that delivered is gone', () => {
  test('messages without a consumer are forgotten, and settlements of others reject', async () => {
    await using group = await consumed();
    group.line.send(['a', 'b', 'c']);
    await turn();
    group.line.reconnect();
    expect(group.group.unsettled).toBe(2);
    await expect(group.deliveries[0]?.ack()).rejects.toThrow(
      'the connection to the broker that delivered the message is gone',
    );
    await group.deliveries[1]?.retry(0);
    expect(group.group.unsettled).toBe(0);
    expect(group.line.taken().filter((call) => /^(ack|hold)/.test(call))).toEqual([]);
  });

  test('a message that is redelivered while a consumer has it is settled with its new delivery', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true });
    await turn();
    group.line.reconnect();
    group.line.send(['a'], { keyed: true, attempts: 1 });
    await turn();
    expect(group.ids).toEqual(['a:1']);
    await group.deliveries[0]?.ack();
    expect(group.line.taken()).toContain('ack a of 2');
  });

  test('a part of the messages can be gone: the others are settled as ever', async () => {
    await using group = await consumed({ maxInFlight: 2 });
    group.line.send(['a', 'b', 'c', 'd'], { keyed: true });
    await turn();
    group.line.receiver.detach(({ id }) => id === 'a' || id === 'c');
    await expect(group.deliveries[0]?.ack()).rejects.toThrow('gone');
    await group.deliveries[1]?.ack();
    await turn();
    expect(group.ids).toEqual(['a:1', 'b:1', 'd:1']);
    await group.deliveries[2]?.ack();
    expect(group.line.taken().filter((call) => call.startsWith('ack'))).toEqual(['ack b of 1', 'ack d of 1']);
  });

  test('a message that was answered meanwhile is acknowledged when it comes again, and not delivered', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true });
    await turn();
    group.line.reconnect();
    await expect(group.deliveries[0]?.ack()).rejects.toThrow('gone');
    group.line.send(['a', 'b'], { keyed: true, attempts: 1 });
    await turn();
    expect(group.ids).toEqual(['a:1', 'b:2']);
    expect(group.line.taken()).toContain('ack a of 2');
    group.line.send(['a'], { keyed: true });
    await turn();
    expect(group.ids).toEqual(['a:1', 'b:2', 'a:1']);
  });

  test('a message whose acknowledgement fails again is acknowledged at its next delivery', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true });
    await turn();
    group.line.reconnect();
    await expect(group.deliveries[0]?.ack()).rejects.toThrow('gone');
    group.line.failure = new Error('again');
    group.line.send(['a'], { keyed: true });
    await turn();
    group.line.failure = undefined;
    group.line.send(['a'], { keyed: true });
    await turn();
    expect(group.ids).toEqual(['a:1']);
    expect(group.line.taken().filter((call) => call === 'ack a of 2')).toHaveLength(2);
  });

  test('a copy of a message that is in process is settled by itself', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true, isFirst: true });
    await turn();
    group.line.connection = 2;
    group.line.send(['a'], { keyed: true, isFirst: true });
    await turn();
    for (const delivery of group.deliveries) await delivery.ack();
    expect(group.line.taken().filter((call) => call.startsWith('ack'))).toEqual(['ack a of 1', 'ack a of 2']);
  });

  test('copies of a message that both come again are all acknowledged', async () => {
    await using group = await consumed();
    for (let copy = 0; copy < 2; copy++) group.line.send(['a'], { keyed: true, isFirst: true });
    await turn();
    group.line.reconnect();
    for (let copy = 0; copy < 2; copy++) group.line.send(['a'], { keyed: true, isFirst: false });
    await Promise.allSettled(group.deliveries.map((delivery) => delivery.ack()));
    expect(group.line.taken().filter((call) => call === 'ack a of 2')).toHaveLength(2);
  });

  test('a delivery that takes the place of another is settled alone, where the broker takes both for one', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true });
    await turn();
    group.line.connection = 2;
    group.line.send(['a'], { keyed: true });
    await group.deliveries[0]?.ack();
    expect(group.line.taken().filter((call) => call.startsWith('ack'))).toEqual(['ack a of 2']);
  });

  test('a message whose connection is lost is recognised though the broker forgot that it was delivered', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true, isFirst: true });
    await turn();
    group.line.reconnect();
    group.line.send(['a'], { keyed: true, isFirst: true });
    await turn();
    await group.deliveries[0]?.ack();
    expect(group.ids).toEqual(['a:1']);
    expect(group.line.taken()).toContain('ack a of 2');
  });

  test('a retry keeps its delay when the message comes again', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true });
    await turn();
    await group.deliveries[0]?.retry(1_000);
    group.line.reconnect();
    group.line.send(['a'], { keyed: true, attempts: 1 });
    await turn();
    expect(group.ids).toEqual(['a:1']);
    await group.clock.advance(1_000);
    await turn();
    expect(group.ids).toEqual(['a:1', 'a:2']);
  });

  test('a retry whose message does not come again is forgotten', async () => {
    await using group = await consumed();
    group.line.send(['a'], { keyed: true });
    await turn();
    await group.deliveries[0]?.retry(1_000);
    group.line.reconnect();
    await group.clock.advance(1_000);
    await turn();
    expect([group.ids, group.group.unsettled]).toEqual([['a:1'], 0]);
  });
});
