import { expect, test } from 'vitest';
import { Inbox } from '../../../../src/blocks/workflow/engine/inbox.ts';
import { InstanceStore } from '../../../../src/blocks/workflow/storage/instance-store.ts';
import { WorkflowLayout } from '../../../../src/blocks/workflow/storage/layout.ts';
import { MemoryStore } from '../../../../src/components/memory/memory-store.ts';
import { virtualClock } from '../../../../src/testing/index.ts';
import { RecordingLogger } from '../../../support/logger.ts';

const INSTANCES = ['a', 'b', 'c', 'd'];
const PER_INSTANCE = 3;
const SOME: Readonly<Record<string, number>> = Object.fromEntries(INSTANCES.map((id) => [id, PER_INSTANCE]));

/** An inbox with some messages for each instance, and what was delivered from it. */
async function filledInbox(deliver: (id: string) => Promise<boolean>, counts = SOME, isOurs = () => true) {
  const memory = new MemoryStore({ clock: virtualClock(), logger: new RecordingLogger() });
  const store = new InstanceStore(memory, new WorkflowLayout('shop'), new RecordingLogger());
  const keys = Object.entries(counts).flatMap(([id, count]) =>
    Array.from({ length: count }, (_, number) => store.messageKey(id, 1, String(number))),
  );
  await memory.commit({ put: keys.map((key) => store.messagePut(key, { event: undefined, executionId: key })) });
  const delivered: string[] = [];
  const failures: unknown[] = [];
  const inbox = new Inbox({
    store,
    isOurs,
    deliver: (id, { executionId }) => {
      delivered.push(executionId);
      return deliver(id);
    },
    onDelivered: () => undefined,
    prepare: async () => undefined,
    onFailure: (error) => failures.push(error),
  });
  return { inbox, keys, delivered, failures, store };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each(['all that there are', 'those that a hint names'])(
  'messages are handed out to instances at the same time, to each in order: %s',
  async (which) => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { inbox, keys, delivered } = await filledInbox(async (id) => {
      if (id === 'b') await held;
      return true;
    });
    const handedOut = which === 'all that there are' ? inbox.readAll() : inbox.changed(keys);
    await turn();
    // The others do not wait for the one that takes long.
    expect(new Set(delivered)).toEqual(new Set(keys.filter((_, at) => at <= 3 || at > 5)));
    release();
    await handedOut;
    for (const [at] of INSTANCES.entries()) {
      const own = keys.slice(at * PER_INSTANCE, (at + 1) * PER_INSTANCE);
      expect(delivered.filter((key) => own.includes(key))).toEqual(own);
    }
  },
);

test('a message that cannot be handed out keeps back those behind it for its instance only', async () => {
  let isBroken = true;
  const { inbox, keys, delivered, failures } = await filledInbox((id) =>
    isBroken && id === 'b' ? Promise.reject(new Error('the disk is on fire')) : Promise.resolve(true),
  );
  await inbox.changed(keys);
  expect([failures.length, delivered.length]).toEqual([1, keys.length - 2]);
  isBroken = false;
  await inbox.readAll();
  expect(delivered.slice(-PER_INSTANCE)).toEqual(keys.slice(PER_INSTANCE, 2 * PER_INSTANCE));
});

test('an instance that takes no messages keeps back only its own, however many they are', async () => {
  const { inbox, keys, delivered, failures } = await filledInbox(
    (id) => (id === 'a' ? Promise.reject(new Error('its history is damaged')) : Promise.resolve(true)),
    { a: 300, b: PER_INSTANCE },
  );
  await inbox.readAll();
  // Its first one was tried: none of those behind it comes before it.
  expect(delivered).toEqual([keys[0], ...keys.slice(-PER_INSTANCE)]);
  expect(failures).toHaveLength(1);
});

test('messages that a hint and a read find at the same time keep their order', async () => {
  const { inbox, keys, delivered, store } = await filledInbox(() => Promise.resolve(true), { a: PER_INSTANCE });
  const message = store.message.bind(store);
  store.message = async (key) => {
    for (let turns = 0; turns < 5; turns++) await turn();
    return message(key);
  };
  await Promise.all([inbox.changed(keys.slice(0, 1)), inbox.readAll()]);
  expect(delivered).toEqual(keys);
});

test('a message that has been processed since its page was read is not handed out again', async () => {
  const { inbox, keys, delivered, store } = await filledInbox(async (id) => {
    if (id !== 'a') return true;
    // Meanwhile another way hands out the last one, whose turn is committed.
    const last = keys.at(-1) ?? '';
    if (!inbox.claim(last)) return true;
    await store.commit({ delete: [last] });
    inbox.release(last);
    return true;
  });
  await inbox.readAll();
  expect(delivered).toHaveLength(keys.length - 1);
});

test('a hint of something that is no message is told, and does no harm', async () => {
  const { inbox, keys, delivered, failures } = await filledInbox(() => Promise.resolve(true));
  await inbox.changed(['workflows!=shop!inbox!x']);
  await inbox.changed(keys);
  expect(failures).toHaveLength(1);
  expect([...delivered].sort()).toEqual([...keys].sort());
});

test('what is sent to an instance waits for the messages in line, without a look at the store for each', async () => {
  const { inbox, keys, delivered, store } = await filledInbox(() => turn().then(() => true), { a: PER_INSTANCE });
  let scans = 0;
  const messages = store.messages.bind(store);
  store.messages = (...args) => {
    scans++;
    return messages(...args);
  };
  const changed = inbox.changed(keys);
  const sent = Array.from({ length: 50 }, async () => {
    expect(inbox.isBehind('a')).toBe(true);
    await inbox.catchUp('a');
    return delivered.length;
  });
  expect(await Promise.all(sent)).toEqual(sent.map(() => PER_INSTANCE));
  await changed;
  expect(scans).toBe(1);
  expect(inbox.isBehind('a')).toBe(false);
});

test('while all messages are read, those who send to one instance share a look at its messages', async () => {
  const { inbox, store, keys, delivered } = await filledInbox(() => turn().then(() => true), { a: PER_INSTANCE });
  let scans = 0;
  const messages = store.messages.bind(store);
  store.messages = (...args) => {
    scans++;
    return messages(...args);
  };
  const read = inbox.readAll();
  await turn();
  await Promise.all(Array.from({ length: 50 }, () => inbox.catchUp('a')));
  await read;
  expect(scans).toBeLessThan(5);
  expect(delivered.slice(0, PER_INSTANCE)).toEqual(keys);
});

test('an instance that becomes ours while all messages are read gets them from its first one on', async () => {
  const answers = [false];
  const taken = (): Promise<boolean> => Promise.resolve(true);
  const { inbox, keys, delivered } = await filledInbox(taken, { a: 300 }, () => answers.shift() ?? true);
  await inbox.readAll();
  expect(delivered).toEqual([]);
  await inbox.readAll();
  expect(delivered).toEqual(keys);
});

test('an instance that is ours again while its messages are handed out gets them in order', async () => {
  const answers = [true, true, false];
  const taken = (): Promise<boolean> => Promise.resolve(true);
  const { inbox, keys, delivered } = await filledInbox(taken, { a: PER_INSTANCE }, () => answers.shift() ?? true);
  await inbox.changed(keys);
  await inbox.changed(keys);
  expect(delivered).toEqual(keys);
});

test('an event that has to go through the store keeps those behind it from overtaking it', async () => {
  let isFirst = true;
  const { inbox, keys } = await filledInbox(
    async () => {
      if (isFirst) inbox.left(keys);
      const isTaken = !isFirst;
      isFirst = false;
      return isTaken;
    },
    { a: 1 },
  );
  const read = inbox.readAll();
  // The first look fails, the next one delivers the message: for the events after the first.
  const admitted = await Promise.all(['one', 'two', 'three'].map(() => inbox.admit('a')));
  expect(admitted).toEqual([false, false, false]);
  await read;
  expect([inbox.holdsBack('a'), await inbox.admit('a')]).toEqual([false, true]);
});

test('an instance is behind until what could not be handed out has been', async () => {
  let isBroken = true;
  const { inbox, keys } = await filledInbox((id) =>
    isBroken && id === 'b' ? Promise.reject(new Error('the disk is on fire')) : Promise.resolve(true),
  );
  await inbox.changed(keys);
  expect(INSTANCES.map((id) => inbox.isBehind(id))).toEqual([false, true, false, false]);
  isBroken = false;
  await inbox.readAll();
  expect(inbox.isBehind('b')).toBe(false);
});

test('an instance whose turn has failed is behind until its messages are handed out again', async () => {
  const { inbox, keys } = await filledInbox(() => Promise.resolve(true), { a: PER_INSTANCE });
  await inbox.changed(keys);
  for (const key of keys) inbox.release(key);
  inbox.left(keys);
  expect(inbox.isBehind('a')).toBe(true);
  await inbox.catchUp('a');
  expect(inbox.isBehind('a')).toBe(false);
});

test('a hint brings the messages before it, whose hints were lost', async () => {
  const { inbox, keys, delivered } = await filledInbox(() => Promise.resolve(true), { a: PER_INSTANCE });
  await inbox.changed(keys.slice(-1));
  expect(delivered).toEqual(keys);
});

test('messages behind one that has come back from a failed turn wait for it', async () => {
  const { inbox, keys, delivered } = await filledInbox(
    async () => {
      // The turn of the first one fails while the others are handed out.
      if (delivered.length > 1) return true;
      inbox.release(keys[0] ?? '');
      inbox.left(keys.slice(0, 1));
      return true;
    },
    { a: PER_INSTANCE },
  );
  await inbox.changed(keys);
  expect([delivered, inbox.hasLeftovers('a')]).toEqual([keys.slice(0, 1), true]);
  await inbox.again(keys.slice(0, 1));
  expect([delivered, inbox.hasLeftovers('a')]).toEqual([[...keys.slice(0, 1), ...keys], false]);
});

test('who catches up is told when messages have come back, even though another look has begun since', async () => {
  const { inbox, keys, delivered } = await filledInbox(
    async () => {
      if (delivered.length > 1) return true;
      inbox.release(keys[0] ?? '');
      inbox.left(keys.slice(0, 1));
      void inbox.changed(keys);
      return true;
    },
    { a: PER_INSTANCE },
  );
  expect(await inbox.catchUp('a')).toBe(false);
  expect(await inbox.catchUp('a')).toBe(true);
  expect(delivered.slice(1)).toEqual(keys);
});
