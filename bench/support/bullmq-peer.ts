import { connect } from 'node:net';
import { peerIfInstalled } from './peers.ts';

/** BullMQ on Redis, as far as the comparison needs it. */
export interface Peer {
  /** How durable Redis is set to be, for the table. */
  readonly durability: string;
  /** Adds one job that is due in so many milliseconds. */
  add(delayMs: number, data: object): Promise<unknown>;
  /** Adds jobs, then runs them all; answers jobs per second. */
  process(count: number, data: object): Promise<number>;
  /** Adds jobs that come due over one second; answers how late each began, in milliseconds. */
  late(count: number, data: object): Promise<readonly number[]>;
  close(): Promise<void>;
}

interface BullJob {
  readonly timestamp: number;
  readonly delay: number;
}
interface BullQueue {
  add(name: string, data: object, options?: object): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: object; opts?: object }[]): Promise<unknown>;
  obliterate(options: { force: boolean }): Promise<void>;
  close(): Promise<void>;
}
interface BullWorker {
  on(event: 'completed', listener: () => void): unknown;
  close(): Promise<void>;
}
interface BullModule {
  readonly Queue: new (name: string, options: object) => BullQueue;
  readonly Worker: new (name: string, run: (job: BullJob) => Promise<void>, options: object) => BullWorker;
}

const CONNECTION = { host: '127.0.0.1', port: 6379 };
const SETTINGS = { connection: CONNECTION, prefix: 'insidecar-bench' };
const REMOVE = { removeOnComplete: true };
const CONCURRENCY = 50;
const BATCH = 1_000;

/** A setting of Redis; asked without a client, which would be one more package. */
function setting(name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(CONNECTION, () => socket.write(`CONFIG GET ${name}\r\n`));
    socket.once('data', (reply: Buffer) => {
      socket.destroy();
      resolve(reply.toString().split('\r\n').at(-2) ?? '');
    });
    socket.once('error', reject);
  });
}

/** `undefined` when the package is not installed. */
export async function startPeer(): Promise<Peer | undefined> {
  const bull = (await peerIfInstalled('bullmq')) as BullModule | undefined;
  if (bull === undefined) return undefined;
  const queue = new bull.Queue('jobs', SETTINGS);
  const [appendOnly, sync] = [await setting('appendonly'), await setting('appendfsync')];
  return {
    durability: appendOnly === 'yes' ? `AOF ${sync}` : 'not durable',
    add: (delay, data) => queue.add('job', data, { ...REMOVE, delay }),
    process: async (count, data) => {
      await queue.obliterate({ force: true });
      await addAll(queue, count, data, () => ({}));
      const startedAt = performance.now();
      await run(bull, count, () => undefined);
      return count / ((performance.now() - startedAt) / 1_000);
    },
    late: async (count, data) => {
      await queue.obliterate({ force: true });
      const startAt = Date.now() + 4_000;
      const late: number[] = [];
      const ran = run(bull, count, ({ timestamp, delay }) => void late.push(Date.now() - timestamp - delay));
      await addAll(queue, count, data, (index) => ({ delay: startAt + (index * 1_000) / count - Date.now() }));
      await ran;
      return late;
    },
    close: async () => {
      await queue.obliterate({ force: true });
      await queue.close();
    },
  };
}

async function addAll(
  queue: BullQueue,
  count: number,
  data: object,
  options: (index: number) => object,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => ({
      name: 'job',
      data,
      opts: { ...REMOVE, ...options(from + index) },
    }));
    await queue.addBulk(batch);
  }
}

async function run({ Worker }: BullModule, count: number, onJob: (job: BullJob) => void): Promise<void> {
  let worker: BullWorker | undefined;
  let done = 0;
  await new Promise<void>((resolve) => {
    worker = new Worker('jobs', async (job) => onJob(job), { ...SETTINGS, concurrency: CONCURRENCY });
    worker.on('completed', () => {
      if (++done === count) resolve();
    });
  });
  await worker?.close();
}
