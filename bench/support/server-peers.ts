/** The peers of bench/fleet.ts on PostgreSQL and Redis. */
import { startDbos } from './dbos-peer.ts';
import { ORDER, type Worker } from './fleet-work.ts';
import { loadPeer } from './peers.ts';

/** Workflows on DBOS. */
export async function openDbos(url: string): Promise<Worker> {
  process.env['DBOS_SYSTEM_DATABASE_URL'] = url;
  const dbos = await startDbos();
  return { workflow: () => dbos.sequence(ORDER), close: () => dbos.close() };
}

interface BossJob {
  readonly id: string;
}
interface BossLike {
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  createQueue(name: string): Promise<void>;
  send(name: string, data: object, options?: { startAfter: Date }): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<readonly BossJob[]>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
}

const QUEUE = 'jobs';
const BATCH = 100;
const IDLE_MS = 5;

/**
 * Messages and jobs on pg-boss: two loops that fetch 100 at a time and complete them together, its fastest way. They
 * poll only while something of theirs is open: the others use the same server and the same processors.
 */
export async function openPgBoss(url: string, done: () => void): Promise<Worker> {
  const { PgBoss } = (await loadPeer('pg-boss')) as { PgBoss: new (options: object) => BossLike };
  const boss = new PgBoss({ connectionString: url, max: 20, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  let isOpen = true;
  let sent = 0;
  const send = (options?: { startAfter: Date }): Promise<unknown> => {
    sent++;
    return boss.send(QUEUE, ORDER, options);
  };
  const loop = async (): Promise<void> => {
    while (isOpen) {
      const jobs = sent === 0 ? [] : await boss.fetch(QUEUE, { batchSize: BATCH });
      sent -= jobs.length;
      if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
      else
        await boss.complete(
          QUEUE,
          jobs.map(({ id }) => id),
        );
      for (const _ of jobs) done();
    }
  };
  const loops = [loop(), loop()];
  return {
    publish: () => send(),
    schedule: (_name, dueAt) => send({ startAfter: new Date(dueAt) }),
    close: async () => {
      isOpen = false;
      await Promise.all(loops);
      await boss.stop({ graceful: false });
    },
  };
}

interface BullQueue {
  add(name: string, data: object, options: object): Promise<unknown>;
  close(): Promise<void>;
}
interface BullWorker {
  on(event: 'completed', listener: () => void): unknown;
  close(): Promise<void>;
}
interface BullModule {
  readonly Queue: new (name: string, options: object) => BullQueue;
  readonly Worker: new (name: string, run: () => Promise<void>, options: object) => BullWorker;
}
const BULL_CONCURRENCY = 100;

/** Messages and jobs on BullMQ. */
export async function openBullmq(url: string, done: () => void): Promise<Worker> {
  const { Queue, Worker: BullWorker } = (await loadPeer('bullmq')) as BullModule;
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue(QUEUE, { connection });
  const worker = new BullWorker(QUEUE, async () => undefined, { connection, concurrency: BULL_CONCURRENCY });
  worker.on('completed', done);
  const removed = { removeOnComplete: true };
  return {
    publish: () => queue.add('message', ORDER, removed),
    schedule: (_name, dueAt) => queue.add('job', ORDER, { ...removed, delay: Math.max(0, dueAt - Date.now()) }),
    close: async () => {
      await worker.close();
      await queue.close();
    },
  };
}
