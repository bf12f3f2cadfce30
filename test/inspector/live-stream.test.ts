import { describe, expect, test } from 'vitest';
import { memoryPubSub, Sidecar } from '../../src/index.ts';
import type { LiveFrame } from '../../src/inspector/api/live.ts';
import type { LiveStream } from '../../src/inspector/recorder/live-stream.ts';
import { readFilter } from '../../src/inspector/recorder/query.ts';
import { Recorder } from '../../src/inspector/recorder/recorder.ts';
import { eventually } from '../../src/kit/collector.ts';
import { RecordingLogger } from '../support/logger.ts';

const OPTIONS = { record: 'watched', payloads: 'full' } as const;

async function recorded(limits: ConstructorParameters<typeof Recorder>[2] = {}) {
  const components = [memoryPubSub('pubsub')];
  const sidecar = new Sidecar({ appId: 'shop', components, logger: new RecordingLogger() });
  await sidecar.start();
  const recorder = new Recorder(sidecar, OPTIONS, limits);
  const publish = async (count: number): Promise<void> => {
    const entries = Array.from({ length: count }, (_, n) => ({ entryId: String(n), event: n }));
    await sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
  };
  const end = async (): Promise<void> => {
    recorder.close();
    await sidecar.stop();
  };
  return { sidecar, recorder, publish, [Symbol.asyncDispose]: end };
}

const filterOf = (query = ''): ReturnType<typeof readFilter> => readFilter(new URLSearchParams(query));

/** Reads until there is a frame. */
async function frameOf(stream: LiveStream): Promise<LiveFrame> {
  for (;;) {
    const { value, done } = await stream.next();
    if (done === true) throw new Error('the stream has ended');
    const line = String(Buffer.from(value))
      .split('\n')
      .find((one) => one.startsWith('data: {"records"'));
    if (line !== undefined) return JSON.parse(line.slice('data: '.length)) as LiveFrame;
  }
}

describe('a reader that does not read for a while', () => {
  test('gets the newest records in one frame, and how many it has missed, also those that are no longer kept', async () => {
    await using world = await recorded();
    const stream = world.recorder.stream(filterOf());
    for (let turn = 0; turn < 30; turn++) await world.publish(1_000);
    const { records, skipped } = await frameOf(stream);
    expect([records.length, skipped]).toEqual([200, 29_800]);
    await world.publish(1);
    expect(await frameOf(stream)).toMatchObject({ records: [{ outcome: 'published' }], skipped: 0 });
  });

  test('is not told of what its filter leaves out', async () => {
    await using world = await recorded({ records: 100 });
    const stream = world.recorder.stream(filterOf('topic=payments'));
    await world.publish(500);
    await world.sidecar.pubsub.publish('pubsub', 'payments', 1);
    expect(await frameOf(stream)).toMatchObject({ records: [{ topic: 'payments' }], skipped: 0 });
  });

  test('is broken off some time after the end', async () => {
    await using world = await recorded();
    const stream = world.recorder.stream(filterOf());
    await stream.next();
    world.recorder.close();
    expect(stream.signal.aborted).toBe(false);
    await eventually('it is broken off', () => stream.signal.aborted);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });
});

test('a search for a text lets others have their turn', async () => {
  await using world = await recorded();
  world.recorder.watch();
  const data = 'x'.repeat(1_000);
  const entries = Array.from({ length: 10_000 }, (_, n) => ({ entryId: String(n), event: { n, data } }));
  await world.sidecar.pubsub.publishBulk('pubsub', 'orders', entries);
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { records } = await world.recorder.page(filterOf('text="n":7,'), 10);
  isOver = true;
  expect(records).toHaveLength(1);
  expect(turns).toBeGreaterThan(3);
});

test('a reader that goes while nothing happens makes room at once, and recording ends', async () => {
  await using world = await recorded({ viewers: 1, lingerMs: 20 });
  const { recorder } = world;
  const stream = recorder.stream(filterOf());
  await stream.next();
  const next = stream.next();
  expect(() => recorder.stream(filterOf())).toThrow('there are 1 viewers already');
  await stream.return();
  expect(await next).toEqual({ done: true, value: undefined });
  const other = recorder.stream(filterOf());
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(recorder.recordingSince).toBeDefined();
  await other.return();
  await eventually('it records no more', () => recorder.recordingSince === undefined);
});
