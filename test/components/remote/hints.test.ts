import { expect, test, vi } from 'vitest';
import { Hints } from '../../../src/components/remote/hints.ts';
import type { RemoteLink } from '../../../src/components/remote/remote-link.ts';
import { LocalWatch } from '../../../src/state/local-watch.ts';
import { RecordingLogger } from '../../support/logger.ts';

const batch = { put: [{ key: 'a', value: new Uint8Array() }] };

/** Hints over a channel that delivers to its sender as well, or to nobody. */
function hintsOver(channel: { isOpen: boolean }): { hints: Hints; told: (readonly string[])[] } {
  const watch = new LocalWatch(new RecordingLogger());
  const told: (readonly string[])[] = [];
  watch.add('', (keys) => told.push(keys));
  const notify = async (messages: readonly string[]): Promise<void> => {
    if (channel.isOpen) for (const message of messages) hints.received(message);
  };
  const link = { call: (_waitMs: number, work: (connection: object) => unknown) => Promise.resolve(work({ notify })) };
  const hints = new Hints({ link: link as unknown as RemoteLink, watch });
  return { hints, told };
}

test('hints count as received once an own message has come back, until one does not', async () => {
  vi.useFakeTimers();
  try {
    const channel = { isOpen: true };
    const { hints, told } = hintsOver(channel);
    expect(hints.areReceived).toBe(false);
    hints.written([batch]);
    await vi.advanceTimersByTimeAsync(10);
    expect(hints.areReceived).toBe(true);
    channel.isOpen = false;
    hints.written([batch]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(hints.areReceived).toBe(true);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([hints.areReceived, told]).toEqual([false, []]);
  } finally {
    vi.useRealTimers();
  }
});

test('a new connection has its watchers look at everything, and hints are not known to come', async () => {
  const { hints, told } = hintsOver({ isOpen: true });
  hints.reconnected();
  expect([hints.areReceived, told]).toEqual([false, [[]]]);
});

test('keys that could not be sent are sent with the next connection, before later ones', async () => {
  vi.useFakeTimers();
  try {
    const sent: string[] = [];
    let isConnected = false;
    const connection = { notify: (messages: readonly string[]) => Promise.resolve(sent.push(...messages)) };
    const call = (_waitMs: number, work: (to: object) => unknown): unknown =>
      isConnected ? work(connection) : Promise.reject(new Error('not connected'));
    const link = { call: async (waitMs: number, work: (to: object) => unknown) => call(waitMs, work) };
    const hints = new Hints({ link: link as unknown as RemoteLink, watch: new LocalWatch(new RecordingLogger()) });
    hints.written([batch]);
    await vi.advanceTimersByTimeAsync(10);
    isConnected = true;
    hints.reconnected();
    hints.written([{ put: [{ key: 'b', value: new Uint8Array() }] }]);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent.map((message) => message.slice(message.indexOf(' ') + 1))).toEqual(['["a","b"]']);
  } finally {
    vi.useRealTimers();
  }
});

test('no keys overtake a message that is on its way, neither with a commit nor apart', async () => {
  vi.useFakeTimers();
  try {
    const sent: string[] = [];
    const answers: ((isSent: boolean) => void)[] = [];
    const notify = (messages: readonly string[]): Promise<void> => {
      sent.push(...messages.map((message) => message.slice(message.indexOf(' ') + 1)));
      return new Promise((resolve, reject) =>
        answers.push((isSent) => (isSent ? resolve() : reject(new Error('lost')))),
      );
    };
    const call = async (_waitMs: number, work: (to: object) => unknown): Promise<unknown> => work({ notify });
    const hints = new Hints({ link: { call } as unknown as RemoteLink, watch: new LocalWatch(new RecordingLogger()) });
    const keyed = (key: string): { put: { key: string; value: Uint8Array }[] } => ({
      put: [{ key, value: new Uint8Array() }],
    });
    hints.written([keyed('a')]);
    await vi.advanceTimersByTimeAsync(500);
    expect(hints.messageWith([keyed('b')])).toBeUndefined();
    hints.written([keyed('b')]);
    await vi.advanceTimersByTimeAsync(500);
    expect(sent).toEqual(['["a"]']);
    answers.shift()?.(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent).toEqual(['["a"]', '["a","b"]']);
    hints.written([keyed('c')]);
    answers.shift()?.(true);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent).toEqual(['["a"]', '["a","b"]', '["c"]']);
  } finally {
    vi.useRealTimers();
  }
});

test('the keys of a commit after a pause go with it, later ones apart, and all of them again if that may be lost', async () => {
  vi.useFakeTimers();
  try {
    const sent: string[] = [];
    const connection = { notify: async (messages: readonly string[]) => void sent.push(...messages) };
    const call = async (_waitMs: number, work: (to: object) => unknown): Promise<unknown> => work(connection);
    const hints = new Hints({ link: { call } as unknown as RemoteLink, watch: new LocalWatch(new RecordingLogger()) });
    expect(hints.messageWith([batch])?.endsWith(' ["a"]')).toBe(true);
    expect(hints.messageWith([batch])).toBeUndefined();
    hints.written([{ put: [{ key: 'b', value: new Uint8Array() }] }]);
    await vi.advanceTimersByTimeAsync(150);
    expect(hints.messageWith(Array.from({ length: 100 }, () => batch))).toBeUndefined();
    hints.mayBeLost();
    expect(hints.messageWith([batch])).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10);
    expect(sent.map((message) => message.slice(message.indexOf(' ') + 1))).toEqual(['["b"]', '["a"]']);
  } finally {
    vi.useRealTimers();
  }
});

test('the keys of the last commits before the end are sent', async () => {
  const sent: string[] = [];
  const connection = { notify: (messages: readonly string[]) => Promise.resolve(sent.push(...messages)) };
  const call = async (_waitMs: number, work: (to: object) => unknown): Promise<unknown> => work(connection);
  const hints = new Hints({ link: { call } as unknown as RemoteLink, watch: new LocalWatch(new RecordingLogger()) });
  hints.written([batch]);
  await hints.stop();
  expect(sent.map((message) => message.slice(message.indexOf(' ') + 1))).toEqual(['["a"]']);
});
