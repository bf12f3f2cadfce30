import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Sidecar } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { until } from './broker-world.ts';
import { RecordingLogger } from './logger.ts';

const PUBLISHER = fileURLToPath(new URL('broker-publisher.mjs', import.meta.url));

/** A broker whose publisher dies. */
export interface BrokerOfPublisher extends AsyncDisposable {
  /** The entry point and the function that make the component in the publisher's process. */
  readonly entry: string;
  readonly factory: string;
  /** Its options, plain JSON. */
  readonly options: object;
  /** The same component in this process. */
  define(): PubSubDefinition;
}

/** Publishes an event through a process of its own; returns how both ended. */
async function publishOnce(
  { entry, factory, options }: BrokerOfPublisher,
  { topic, id, diesConfirmed }: { readonly topic: string; readonly id: string; readonly diesConfirmed: boolean },
): Promise<{ readonly answer: number | 'none'; readonly signal: unknown }> {
  const settings = JSON.stringify({ entry, factory, options, diesConfirmed });
  const child = spawn(process.execPath, [PUBLISHER, settings], { stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  try {
    const port = await Promise.race([exited.then(() => Promise.reject(new Error('it did not start'))), portOf(child)]);
    const answer = await fetch(`http://127.0.0.1:${port}/v1.0/publish/pubsub/${topic}`, {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents+json' },
      body: JSON.stringify({ specversion: '1.0', type: 'paid', source: 'test', id, data: 1 }),
    }).then(
      ({ status }) => status,
      () => 'none' as const,
    );
    if (!diesConfirmed) child.kill('SIGTERM');
    return { answer, signal: (await exited)[1] };
  } finally {
    child.kill('SIGKILL');
  }
}

async function portOf({ stdout }: ReturnType<typeof spawn>): Promise<number> {
  if (stdout === null) throw new Error('there is no output');
  for await (const line of createInterface(stdout)) if (line.startsWith('port ')) return Number(line.slice(5));
  throw new Error('it told no port');
}

/** What is published at least once is there although its publisher was told nothing, and twice if it repeats it. */
export function publisherDeath(name: string, open: () => Promise<BrokerOfPublisher>): void {
  test(`${name}: SIGKILL between the broker's confirmation and the answer to the publisher`, async () => {
    await using broker = await open();
    const [topic, id] = [`death-${randomUUID()}`, randomUUID()];
    await using sidecar = new Sidecar({
      appId: `app-${topic}`,
      components: [broker.define()],
      logger: new RecordingLogger(),
    });
    await sidecar.start();
    const received: string[] = [];
    await sidecar.pubsub.subscribe('pubsub', topic, (event) => void received.push(event.id));
    const first = await publishOnce(broker, { topic, id, diesConfirmed: true });
    expect(first).toEqual({ answer: 'none', signal: 'SIGKILL' });
    await until('the message is there', () => received.length === 1);
    const second = await publishOnce(broker, { topic, id, diesConfirmed: false });
    expect(second).toEqual({ answer: 204, signal: 'SIGTERM' });
    await until('the repeated message is there, too', () => received.length === 2);
    expect(received).toEqual([id, id]);
  }, 60_000);
}
