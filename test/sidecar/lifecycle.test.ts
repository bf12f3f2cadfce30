import { describe, expect, test } from 'vitest';
import { type Logger, memoryPubSub, memoryState, Sidecar } from '../../src/index.ts';
import type { PubSubComponent, PubSubDefinition, StateDefinition } from '../../src/kit/index.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { RecordingLogger } from '../support/logger.ts';

const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Components and a state store that note when they are opened and closed. */
class Notes {
  readonly lines: string[] = [];
  #open = (): void => undefined;
  /** What opens next waits for `letOpen()`. */
  readonly opening: Promise<void> = new Promise((resolve) => {
    this.#open = resolve;
  });

  letOpen(): void {
    this.#open();
  }

  state(): StateDefinition {
    return {
      type: 'noted',
      open: async (context) => {
        const store = await memoryState().open(context);
        const close = store.close.bind(store);
        store.close = async () => {
          this.lines.push('state closed');
          await close();
        };
        return store;
      },
    };
  }

  component(name: string, fails: { readonly open?: true; readonly close?: true } = {}): PubSubDefinition {
    const component: PubSubComponent = {
      publish: async () => [],
      subscribe: async () => ({ pause: () => undefined, resume: () => undefined, close: async () => undefined }),
      close: async () => {
        this.lines.push(`${name} closed`);
        if (fails.close) throw new Error(`${name} does not close`);
      },
    };
    const open = async (): Promise<PubSubComponent> => {
      if (fails.open) throw new Error(`${name} does not open`);
      await this.opening;
      this.lines.push(`${name} opened`);
      return component;
    };
    return { name, type: 'pubsub.noted', version: 'v1', topics: {}, open };
  }
}

describe('lifecycle of a sidecar', () => {
  test('a stop during the start closes what was being opened', async () => {
    const notes = new Notes();
    const sidecar = new Sidecar({ appId: 'a', logger, state: notes.state(), components: [notes.component('first')] });
    const starting = sidecar.start();
    await Promise.resolve();
    const stopping = sidecar.stop();
    notes.letOpen();
    await Promise.all([starting, stopping]);
    expect(notes.lines).toEqual(['first opened', 'first closed', 'state closed']);
    expect(() => sidecar.health.checkOutbound()).toThrow('not ready');
  });

  test('a start that fails half-way closes what it has opened', async () => {
    const notes = new Notes();
    notes.letOpen();
    const components = [notes.component('first'), notes.component('second', { open: true })];
    const sidecar = new Sidecar({ appId: 'a', logger, state: notes.state(), components });
    await expect(sidecar.start()).rejects.toThrow('second does not open');
    expect(notes.lines).toEqual(['first opened', 'first closed', 'state closed']);
  });

  test('tells why a start has failed, also when something does not close after it', async () => {
    const notes = new Notes();
    notes.letOpen();
    const components = [notes.component('first', { close: true }), notes.component('second', { open: true })];
    const sidecar = new Sidecar({ appId: 'a', logger, state: notes.state(), components });
    await expect(sidecar.start()).rejects.toThrow('second does not open');
    expect(notes.lines).toContain('state closed');
  });

  test('a component that does not close keeps nothing else from being closed', async () => {
    const notes = new Notes();
    notes.letOpen();
    const components = [notes.component('first', { close: true }), notes.component('second')];
    const sidecar = new Sidecar({ appId: 'a', logger, state: notes.state(), components });
    await sidecar.start();
    await expect(sidecar.stop()).rejects.toThrow('first does not close');
    expect(notes.lines.slice(2)).toEqual(['first closed', 'second closed', 'state closed']);
  });

  const hanging = [
    ['a listener', { app: { listener: () => undefined } }],
    ['a fetch function', { app: { fetch: () => new Promise<Response>(() => undefined) } }],
  ] as const;
  test.each(hanging)(
    'a stop waits no longer than stopTimeout for %s that hangs, and leaves no timer',
    async (_, options) => {
      const clock = virtualClock();
      const subscriptions = [{ pubsubName: 'pubsub', topic: 't', route: '/t' }];
      const components = [memoryPubSub('pubsub')];
      const sidecar = new Sidecar({ appId: 'a', logger, clock, components, subscriptions, ...options });
      const starting = sidecar.start();
      await clock.advance('10s'); // the time that discovery is given
      await starting;
      await sidecar.pubsub.publish('pubsub', 't', 1);
      await clock.advance(0);
      const stopping = sidecar.stop();
      await clock.advance('10s');
      await stopping;
      await clock.advance(0);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  test('a stop says nothing of an application that has not told its subscriptions yet', async () => {
    const clock = virtualClock();
    const logs = new RecordingLogger();
    const components = [memoryPubSub('pubsub')];
    let asked = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const app = { listener: () => asked() };
    const sidecar = new Sidecar({ appId: 'a', logger: logs, clock, components, app });
    const starting = sidecar.start();
    await isAsked;
    const stopping = sidecar.stop();
    await clock.advance('10s');
    await Promise.all([starting, stopping]);
    expect(logs.lines.filter(({ message }) => message.includes('could not be asked'))).toEqual([]);
  });

  test('a stop tells a function that is still at work after half of its time, and leaves no timer', async () => {
    const clock = virtualClock();
    const sidecar = new Sidecar({ appId: 'a', logger, clock, components: [memoryPubSub('pubsub')] });
    const delivered: unknown[] = [];
    sidecar.events.on('messageDelivered', (info) => delivered.push(info));
    await sidecar.start();
    let reason: unknown;
    const hangs = (_event: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason;
          reject(signal.reason);
        });
      });
    await sidecar.pubsub.subscribe('pubsub', 't', hangs);
    await sidecar.pubsub.publish('pubsub', 't', 1);
    await clock.advance(0);
    const stopping = sidecar.stop();
    await clock.advance('4999ms');
    expect(reason).toBe(undefined);
    await clock.advance(1);
    await stopping;
    expect(reason).toMatchObject({ message: 'the subscription has ended' });
    expect(delivered).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a stop ends although the store does not answer any more, and says what it gave up on', async () => {
    let hangs = false;
    const never = new Promise<never>(() => undefined);
    const open: StateDefinition['open'] = async (context) => {
      const store = await memoryState().open(context);
      const { scan, close } = { scan: store.scan.bind(store), close: store.close.bind(store) };
      store.scan = (range) => (hangs ? never : scan(range));
      store.close = () => (hangs ? never : close());
      return store;
    };
    const logs = new RecordingLogger();
    const sidecar = new Sidecar({ appId: 'a', logger: logs, clock: virtualClock(), state: { type: 'hanging', open } });
    await sidecar.start();
    hangs = true;
    await sidecar.stop();
    expect(logs.at('error').map(({ message, details }) => [message, details['closing']])).toEqual([
      ['the stop gave up waiting for something to close', 'hosts of the state store'],
      ['the stop gave up waiting for something to close', 'state store'],
    ]);
  });

  test('takes no subscription while it stops', async () => {
    const clock = virtualClock();
    const sidecar = new Sidecar({ appId: 'a', logger, clock, components: [memoryPubSub('pubsub')] });
    await sidecar.start();
    const subscribing = sidecar.pubsub.subscribe('pubsub', 't', () => undefined);
    const stopping = sidecar.stop();
    await expect(subscribing).rejects.toMatchObject({ code: 'ERR_SHUTTING_DOWN' });
    await stopping;
    expect(sidecar.metadata.get().subscriptions).toEqual([]);
  });
});
