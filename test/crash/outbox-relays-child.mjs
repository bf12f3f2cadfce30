// One life of one of two applications with one state store and its outbox: each counts up in keys that both write, and
// publishes to a pub/sub that is a file which both add to.
//   C <key> <n>           the transaction that set the key to <n> was acknowledged
// In the file of the pub/sub:
//   <key> <n> <life>      the event of that transaction was published
import { appendFileSync, readFileSync } from 'node:fs';
import { memoryPubSub, Sidecar } from 'insidecar';
import { sqliteStateStore } from 'insidecar/embedded';
import { postgresqlStateStore } from 'insidecar/postgresql';
import { redisStateStore } from 'insidecar/redis';
import { last, life, logger, path, say } from './life.mjs';

const KEYS = 4;
const [, kind, port, name] = process.argv.slice(2);
const outbox = { pubsubName: 'pubsub', topic: 'counted' };
const connection = `postgresql://postgres@127.0.0.1:${port}/postgres`;
const store = {
  sqlite: () => sqliteStateStore('orders', { file: `${path}/orders.db`, outbox }),
  redis: () => redisStateStore('orders', { url: `redis://127.0.0.1:${port}`, outbox }),
  'postgresql-v1': () => postgresqlStateStore('orders', { url: connection, version: 'v1', outbox }),
  'postgresql-v2': () => postgresqlStateStore('orders', { url: connection, version: 'v2', outbox }),
}[kind]();

const file = `${path}/published`;
const pubsub = {
  ...memoryPubSub('pubsub'),
  open: async () => ({
    subscribe: async () => ({ close: async () => undefined }),
    close: async () => undefined,
    publish: async (messages) => {
      for (const { data } of messages) {
        const { subject, data: n } = JSON.parse(Buffer.from(data).toString());
        appendFileSync(file, `${subject} ${n} ${name}-${life}\n`);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
      return [];
    },
  }),
};

const sidecar = new Sidecar({ appId: 'crash', logger, components: [store, pubsub] });
await sidecar.start();
say('ready');

async function countUp(key) {
  const item = await sidecar.state.get('orders', key);
  const n = (item?.value ?? 0) + 1;
  const condition = item === undefined ? { ifAbsent: true } : { etag: item.etag };
  try {
    await sidecar.state.transact('orders', [
      { operation: 'upsert', key, value: n, ...condition, metadata: { subject: key } },
    ]);
  } catch (error) {
    if (error.status === 409) return;
    throw error;
  }
  say(`C ${key} ${n}`);
}

const keys = Array.from({ length: KEYS }, (_, index) => `k${index}`);
for (let count = 0; !last || count < 20; count++) {
  await Promise.all(keys.map(countUp));
  await new Promise((resolve) => setTimeout(resolve, 10 * Math.random()));
}
// The last life ends when all that is stored has been published.
for (;;) {
  const items = await sidecar.state.getMany('orders', keys);
  const lines = new Set(
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.split(' ', 2).join(' ')),
  );
  if (items.every((item, index) => lines.has(`${keys[index]} ${item?.value}`))) break;
  await new Promise((resolve) => setTimeout(resolve, 200));
}
await sidecar.stop();
