// One life of an application whose values are on a server. Each of its writers counts up in two keys at once, and repeats
// after a kill the transaction whose answer it did not get, with the ETag that it had then.
//   S <writer> <n> <n>                     what the keys of a writer had at the start of a life
//   R <writer> <n> <n at the start> <how>  the transaction with <n> was repeated: `done`, or `refused`
//   C <writer> <n>                         the transaction with <n> was acknowledged
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Sidecar } from 'insidecar';
import { postgresqlStateStore } from 'insidecar/postgresql';
import { redisStateStore } from 'insidecar/redis';
import { last, logger, path, say } from './life.mjs';

const WRITERS = 8;
const [, kind, port] = process.argv.slice(2);
const connection = `postgresql://postgres@127.0.0.1:${port}/postgres`;
const store = {
  redis: () => redisStateStore('orders', { url: `redis://127.0.0.1:${port}` }),
  'postgresql-v1': () => postgresqlStateStore('orders', { url: connection, version: 'v1' }),
  'postgresql-v2': () => postgresqlStateStore('orders', { url: connection, version: 'v2' }),
}[kind]();
const sidecar = new Sidecar({ appId: 'crash', logger, components: [store] });
await sidecar.start();

/** The last transaction of a writer, in a file: written before it is sent, it outlives a kill. */
const fileOf = (writer) => `${path}/${writer}.json`;
const keysOf = (writer) => [`count-${writer}`, `copy-${writer}`];

function write(writer, { n, etag }) {
  const [count, copy] = keysOf(writer);
  return sidecar.state.transact('orders', [
    { operation: 'upsert', key: count, value: n, ...(etag === undefined ? { ifAbsent: true } : { etag }) },
    { operation: 'upsert', key: copy, value: n },
  ]);
}

async function repeat(writer, before) {
  if (!existsSync(fileOf(writer))) return;
  const pending = JSON.parse(readFileSync(fileOf(writer), 'utf8'));
  const how = await write(writer, pending).then(
    () => 'done',
    (error) => (error.status === 409 ? 'refused' : Promise.reject(error)),
  );
  say(`R ${writer} ${pending.n} ${before} ${how}`);
}

async function begin(writer) {
  const [count, copy] = await sidecar.state.getMany('orders', keysOf(writer));
  say(`S ${writer} ${count?.value ?? 0} ${copy?.value ?? 0}`);
  await repeat(writer, count?.value ?? 0);
}

async function countUp(writer) {
  const [count] = keysOf(writer);
  let { value: n = 0, etag } = (await sidecar.state.get('orders', count)) ?? {};
  for (;;) {
    n++;
    writeFileSync(`${fileOf(writer)}.new`, JSON.stringify({ n, etag }));
    renameSync(`${fileOf(writer)}.new`, fileOf(writer));
    etag = (await write(writer, { n, etag })).get(count);
    say(`C ${writer} ${n}`);
  }
}

const writers = Array.from({ length: WRITERS }, (_, writer) => writer);
await Promise.all(writers.map(begin));
say('ready');
if (last) await sidecar.stop();
else await Promise.all(writers.map(countUp));
