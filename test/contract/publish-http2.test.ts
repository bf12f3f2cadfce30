import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { nodeHandler } from '../../src/index.ts';
import { ask, http2Session } from '../support/http2.ts';
import { startWorld } from '../support/world.ts';

const FRAME = { data: 0, headers: 1, reset: 3, settings: 4 } as const;
const FLAG = { none: 0, endStream: 1, endHeaders: 4 } as const;
const CANCEL = 8;
const ROUNDS = 20;

/** RFC 9113, 4.1. */
function frame(type: keyof typeof FRAME, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = FRAME[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Literal fields that no table keeps (RFC 7541, 6.2.2). */
function fields(all: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  return Buffer.concat(Object.entries(all).map((pair) => Buffer.concat([Buffer.of(0), ...pair.map(text)])));
}

const HEAD = fields({
  ':method': 'POST',
  ':scheme': 'http',
  ':authority': 'localhost',
  ':path': '/v1.0/publish/pubsub/orders',
  'content-type': 'text/plain',
});

/** A connection that writes frames as they are, so that what is written at once arrives at once. */
async function rawConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame('settings', FLAG.none, 0)]));
  await once(socket, 'data');
  return socket;
}

const reset = (stream: number): Buffer => frame('reset', FLAG.none, stream, Buffer.of(0, 0, 0, CANCEL));
const head = (stream: number): Buffer => frame('headers', FLAG.endHeaders, stream, HEAD);

test.each<[what: string, left: (stream: number) => Buffer]>([
  ['after its head', (stream) => Buffer.concat([head(stream), reset(stream)])],
  [
    'in the middle of its body',
    (stream) => Buffer.concat([head(stream), frame('data', FLAG.none, stream, Buffer.from('cut')), reset(stream)]),
  ],
])(
  'behind a server of HTTP/2, a caller that goes %s publishes nothing and leaves nothing behind',
  async (_what, left) => {
    await using world = await startWorld();
    await using http2 = await http2Session(nodeHandler(world.sidecar));
    const raw = await rawConnection(http2.port);
    for (let round = 0; round < ROUNDS; round++) {
      raw.write(left(2 * round + 1));
      const whole = await ask(http2.session, { ':method': 'POST', ':path': '/v1.0/publish/pubsub/orders' }, 'whole');
      expect(whole.status).toBe(204);
    }
    await expect.poll(() => world.sidecar.answers.underWay).toBe(0);
    raw.destroy();
    await world.clock.settled();
    expect(world.deliveries.map(({ text }) => text.includes('cut'))).toEqual(
      Array.from({ length: ROUNDS }, () => false),
    );
  },
);
