import { request as httpRequest, type IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbage } from '../support/garbage.ts';
import { startInvocation } from '../support/invocation-world.ts';
import { WAYS } from '../support/served.ts';

const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'x');
const STREAM_BYTES = 64 * MIB;
/** What sockets and we may hold. */
const UNDERWAY_BYTES = 32 * MIB;

test.each(WAYS)('64 MB stream through both ways at once (%s), complete and in little memory', async (via) => {
  await using world = await startInvocation({ via, listener: (req, res) => void req.pipe(res) });
  const req = httpRequest(`${world.server.url}/v1.0/invoke/shop/method/x`, { method: 'POST', agent: false });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    req.once('response', resolve).once('error', reject);
  });
  const held = async (): Promise<number> => {
    collectGarbage();
    await nextTurn();
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = await held();
  let most = 0;
  const writing = (async () => {
    for (let at = 0; at < STREAM_BYTES / CHUNK.length; at++) {
      if (!req.write(CHUNK)) await new Promise((resolve) => req.once('drain', resolve));
      if (at % 64 === 63) most = Math.max(most, (await held()) - before);
    }
    req.end();
  })();
  let bytes = 0;
  for await (const chunk of await answered) bytes += (chunk as Buffer).length;
  await writing;
  expect(bytes).toBe(STREAM_BYTES);
  expect(most).toBeLessThan(UNDERWAY_BYTES);
});
