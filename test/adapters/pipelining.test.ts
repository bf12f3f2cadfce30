import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import { nodeHandler } from '../../src/index.ts';
import { listen } from '../support/http.ts';
import { startInvocation } from '../support/invocation-world.ts';

const CALLS = 3_000;
/** The call whose response is next, and those that may have begun behind it. */
const MAX_IN_FLIGHT = 101;

/** An application on a port that answers when it is told to, and a client that sends all calls at once. */
async function pipelined() {
  const held: [path: string, res: ServerResponse][] = [];
  const seen = { most: 0, sockets: new Set<unknown>(), isHolding: true, received: 0 };
  const answer = (path: string, res: ServerResponse): void => void res.end(`${path};`);
  const world = await startInvocation({
    via: 'port',
    listener: (req, res) => {
      seen.sockets.add(req.socket);
      seen.most = Math.max(seen.most, held.length + 1);
      if (seen.isHolding) held.push([req.url ?? '', res]);
      else answer(req.url ?? '', res);
    },
  });
  const api = nodeHandler(world.sidecar);
  const server = await listen((req, res) => {
    seen.received++;
    api(req, res);
  });
  const client = connect(server.port, '127.0.0.1');
  let text = '';
  client.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  const requests = Array.from(
    { length: CALLS },
    (_, at) => `GET /v1.0/invoke/shop/method/${at} HTTP/1.1\r\nhost: a\r\n\r\n`,
  );
  client.write(requests.join(''));
  await vi.waitFor(() => expect([seen.received, held.length >= MAX_IN_FLIGHT]).toEqual([CALLS, true]), 15_000);
  const release = (): void => {
    seen.isHolding = false;
    for (const [path, res] of held.splice(0)) answer(path, res);
  };
  const stop = async (): Promise<void> => {
    client.destroy();
    await server[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  };
  return { world, seen, client, release, answers: () => text, [Symbol.asyncDispose]: stop };
}

test('of the calls that a client sends without waiting, a bounded number is under way at a time', async () => {
  await using run = await pipelined();
  run.release();
  const paths = Array.from({ length: CALLS }, (_, at) => `/${at};`);
  await vi.waitFor(() => expect(run.answers().match(/\/\d+;/g)).toHaveLength(CALLS), 15_000);
  expect(run.answers().match(/\/\d+;/g)).toEqual(paths);
  expect(run.seen.most).toBe(MAX_IN_FLIGHT);
  expect(run.seen.sockets.size).toBeLessThanOrEqual(MAX_IN_FLIGHT);
});

test('a client that leaves takes its calls that have not begun with it', async () => {
  await using run = await pipelined();
  run.client.destroy();
  const begun = run.seen.sockets.size;
  await vi.waitFor(() => expect(run.world.sidecar.answers.underWay).toBe(0), 15_000);
  run.release();
  await run.world.sidecar.invocation.invoke('shop', 'last');
  expect([begun, run.seen.most]).toEqual([MAX_IN_FLIGHT, MAX_IN_FLIGHT]);
});
