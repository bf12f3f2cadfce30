/** Takes a lock again and again for some seconds, and looks whether it is alone: who holds it has a file to itself. */
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresqlLocks } from '../../src/components/postgresql/index.ts';
import { redisLocks } from '../../src/components/redis/index.ts';
import { Sidecar } from '../../src/index.ts';

const RUN_MS = 4_000;
const [kind = '', url = '', resource = ''] = process.argv.slice(2);
const file = join(tmpdir(), `insidecar-lock-${resource}`);
const locks = kind === 'redis' ? redisLocks('locks', { url }) : postgresqlLocks('locks', { url: url });
const sidecar = new Sidecar({ appId: 'shop', components: [locks] });
await sidecar.start();
let [held, overlaps] = [0, 0];
const until = Date.now() + RUN_MS;
while (Date.now() < until) {
  const lock = await sidecar.locks.tryLock('locks', resource, { ttl: '10s' });
  if (lock === undefined) {
    await pause(5);
    continue;
  }
  held++;
  try {
    await (await open(file, 'wx')).close();
    await pause(2);
    await rm(file);
  } catch {
    overlaps++;
  }
  await lock.unlock();
  await pause(1);
}
await sidecar.stop();
process.stdout.write(JSON.stringify({ held, overlaps }));
