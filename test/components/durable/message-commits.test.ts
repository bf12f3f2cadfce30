import { describe, expect, onTestFinished, test } from 'vitest';
import type { ComponentContext } from '../../../src/components/component.ts';
import { type DurablePubSubOptions, durablePubSub } from '../../../src/components/durable/durable-pubsub.ts';
import { MemoryStore } from '../../../src/components/memory/memory-store.ts';
import type { Message, PubSubComponent } from '../../../src/components/pubsub.ts';
import { acknowledge, Collector, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { ConflictError } from '../../../src/state/errors.ts';
import { type Batch, MAX_BATCH_BYTES, MAX_VALUE_BYTES } from '../../../src/state/store.ts';
import { virtualClock } from '../../../src/testing/virtual-clock.ts';
import { Expected } from '../../../src/util/expected.ts';
import { RecordingLogger } from '../../support/logger.ts';

/** State in memory that keeps its commits, and may do something before the next one. */
class KeepingStore extends MemoryStore {
  readonly commits: Batch[] = [];
  before: (() => Promise<unknown>) | undefined;

  override async commit(batch: Batch): Promise<number> {
    const { before } = this;
    this.before = undefined;
    await before?.();
    const version = await super.commit(batch);
    this.commits.push(batch);
    return version;
  }
}

class Bench {
  readonly clock = virtualClock();
  readonly logger = new RecordingLogger();
  readonly store = new KeepingStore({ clock: this.clock, logger: this.logger });
  /** The topics of messages that were dropped because they have no groups. */
  readonly dropped: string[] = [];

  /** Opens the component, each time as another process would: it keeps the groups of the store by itself. */
  async open(options: DurablePubSubOptions = {}, more: Partial<ComponentContext> = {}): Promise<PubSubComponent> {
    const { clock, logger, store: state } = this;
    const component = await durablePubSub('pubsub', options).open({
      ...{ appId: 'orders', clock, logger, state, track: () => () => undefined },
      noGroup: (topic) => this.dropped.push(topic),
      ...more,
    });
    onTestFinished(() => component.close());
    return component;
  }

  async text(key: string): Promise<string | undefined> {
    const entry = await this.store.get(key);
    return entry && Buffer.from(entry.value).toString();
  }
}

const message = (text: string): Message => textMessage('t', text);
const messages = (...texts: readonly string[]): readonly Message[] => texts.map(message);
const put = (key: string): NonNullable<Batch['put']> => [{ key, value: Buffer.from(key) }];

async function commitWith(component: PubSubComponent, texts: readonly string[], batch: Batch): Promise<unknown> {
  return component.commits?.commitWith(messages(...texts), batch);
}

describe('a durable component publishes in commits of others', () => {
  test('a batch and messages for all groups are one commit, whose version it resolves with', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const join = (group: string): Promise<Collector> => Collector.join(component, { topic: 't', group }, acknowledge);
    const groups = [await join('a'), await join('b')];
    await publishTexts(component, 't', ['before']);
    await bench.store.commit({ put: put('old') });
    const { length } = bench.store.commits;
    const version = await commitWith(component, ['1', '2'], { put: put('new'), delete: ['old'] });
    await publishTexts(component, 't', ['after']);
    expect(bench.store.commits[length]?.put?.map(({ key }) => key.split('!')[0])).toHaveLength(5);
    expect((await bench.store.get('new'))?.version).toBe(version);
    expect(await bench.text('old')).toBeUndefined();
    for (const group of groups) {
      await group.expect(4);
      expect(group.texts).toEqual(['before', '1', '2', 'after']);
    }
  });

  test('a group that is added between the plan and the commit gets the messages', async () => {
    const bench = new Bench();
    const [component, other] = [await bench.open(), await bench.open()];
    const first = await Collector.join(component, { topic: 't', group: 'a' }, acknowledge);
    await publishTexts(component, 't', ['before']);
    bench.store.before = () => Collector.join(other, { topic: 't', group: 'b', paused: true });
    await commitWith(component, ['1'], { put: put('new') });
    // It learns of messages of others when it begins.
    const second = await Collector.join(await bench.open(), { topic: 't', group: 'b' }, acknowledge);
    await first.expect(2);
    await second.expect(1);
    expect([first.texts, second.texts]).toEqual([['before', '1'], ['1']]);
    expect(await bench.text('new')).toBe('new');
  });

  test('a precondition of the batch that does not hold refuses all of it', async () => {
    const bench = new Bench();
    const component = await bench.open();
    const group = await Collector.join(component, { topic: 't' }, acknowledge);
    const refused = { require: [{ key: 'k', version: 1 }], put: put('k') };
    await expect(commitWith(component, ['1'], refused)).rejects.toThrow(new ConflictError('k'));
    expect(await bench.text('k')).toBeUndefined();
    await commitWith(component, ['2'], { put: put('k') });
    await group.expect(1);
    expect(group.texts).toEqual(['2']);
  });

  test.each<[string, { options?: DurablePubSubOptions; texts: readonly string[]; batch?: Batch }]>([
    ['the queue of a group is full', { options: { maxQueueMessages: 2 }, texts: ['1', '2', '3'] }],
    ['a message is too large', { texts: ['1', 'x'.repeat(MAX_VALUE_BYTES)] }],
    [
      'the batch is too large with the messages',
      {
        texts: ['x'.repeat(1_000)],
        batch: {
          put: Array.from({ length: 8 }, (_, at) => ({
            key: `k${at}`,
            value: new Uint8Array(MAX_BATCH_BYTES / 8 - 100),
          })),
        },
      },
    ],
  ])('writes nothing when %s', async (_why, { options, texts, batch = { put: put('k') } }) => {
    const bench = new Bench();
    const component = await bench.open(options);
    const group = await Collector.join(component, { topic: 't' }, acknowledge);
    await commitWith(component, ['first'], {});
    await group.expect(1);
    const { length } = bench.store.commits;
    expect(await commitWith(component, texts, batch)).toBeUndefined();
    expect(bench.store.commits).toHaveLength(length);
    // What was reserved for it does not hold up what follows.
    await bench.clock.advance('1s');
    await publishTexts(component, 't', ['last']);
    await group.expect(2);
    expect(group.texts).toEqual(['first', 'last']);
  });

  test('writes nothing when it cannot read its groups', async () => {
    const bench = new Bench();
    const [component, other] = [await bench.open(), await bench.open()];
    await commitWith(component, ['1'], {});
    bench.store.before = () => Collector.join(other, { topic: 't' });
    bench.store.scan = () => Promise.reject(new Error('the disk is on fire'));
    await expect(commitWith(component, ['2'], { put: put('k') })).rejects.toThrow('the disk is on fire');
    expect(await commitWith(component, ['2'], { put: put('k') })).toBeUndefined();
    expect(await bench.text('k')).toBeUndefined();
  });

  test('writes nothing after its close', async () => {
    const bench = new Bench();
    const component = await bench.open();
    await component.close();
    expect(await commitWith(component, ['1'], { put: put('k') })).toBeUndefined();
    expect(await bench.text('k')).toBeUndefined();
  });

  test('without groups the batch is written, and the messages are told as dropped', async () => {
    const bench = new Bench();
    const component = await bench.open();
    await commitWith(component, ['1', '2'], { put: put('k') });
    expect(await bench.text('k')).toBe('k');
    expect(bench.dropped).toEqual(['t', 't']);
  });

  test('messages of the startup period are kept for the groups to come', async () => {
    const bench = new Bench();
    const subscriber = new Expected().add('orders');
    const component = await bench.open({}, { subscriber });
    await commitWith(component, ['1'], { put: put('k') });
    const group = await Collector.join(component, { topic: 't' }, acknowledge);
    await group.expect(1);
    expect(group.texts).toEqual(['1']);
    expect(bench.dropped).toEqual([]);
  });
});
