import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { OutageLog } from '../../../src/components/outage-log.ts';
import { loadAmqp } from '../../../src/components/rabbitmq/driver.ts';
import { RabbitConnection } from '../../../src/components/rabbitmq/rabbit-connection.ts';
import { RECONNECT } from '../../../src/components/reconnector.ts';
import { acknowledge, Collector, publishTexts } from '../../../src/kit/collector.ts';
import { newTopic } from '../../../src/kit/pubsub-case.ts';
import { until } from '../../support/broker-world.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { openComponent, serverAt, urlOf } from './broker.ts';
import { Way } from './way.ts';

/** The class and method of a frame. */
const OPEN_OK = { connection: 0x000a_0029, channel: 0x0014_000b } as const;
/** A frame is a type, a channel, a length, that many bytes and an end. */
const [HEADER_BYTES, END_BYTES] = [7, 1];

/** A way to a server that closes connections soon. */
class Closing extends Way {
  /** How many connections it will still close. */
  left = 0;
  /** How many connections were made. */
  connections = 0;
  /** How long after its answer it closes; 0: in one piece with it. */
  readonly #delayMs: number;
  readonly #after: number;
  protected readonly server;

  constructor(target: number, after: keyof typeof OPEN_OK, delayMs = 0) {
    super();
    this.#after = OPEN_OK[after];
    this.#delayMs = delayMs;
    this.server = createServer((inbound) => {
      this.connections++;
      const outbound = connect(target, '127.0.0.1');
      for (const [from, to] of [
        [inbound, outbound],
        [outbound, inbound],
      ] as const) {
        this.sockets.push(from);
        from.on('error', () => undefined);
        from.on('close', () => to.destroy());
      }
      inbound.pipe(outbound);
      this.#answer(outbound, inbound);
    });
  }

  #answer(from: Socket, to: Socket): void {
    let rest: Buffer = Buffer.alloc(0);
    from.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      while (rest.length >= HEADER_BYTES) {
        const length = rest.readUInt32BE(3) + HEADER_BYTES + END_BYTES;
        if (rest.length < length) return;
        const frame = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (frame[0] !== 1 || frame.readUInt32BE(HEADER_BYTES) !== this.#after || this.left === 0) to.write(frame);
        else this.#close(from, to, frame);
      }
    });
  }

  /** Its end of the socket is left open: it is the client that has to go. */
  #close(from: Socket, to: Socket, frame: Buffer): void {
    this.left--;
    from.removeAllListeners('data');
    if (this.#delayMs === 0) return void to.write(Buffer.concat([frame, closeFrame()]));
    to.write(frame);
    setTimeout(() => to.write(closeFrame()), this.#delayMs);
  }
}

/** `connection.close` with the code 320, as at the end of a server. */
function closeFrame(): Buffer {
  const text = Buffer.from('CONNECTION_FORCED - shutdown');
  const payload = Buffer.concat([Buffer.from([0, 10, 0, 50, 1, 64, text.length]), text, Buffer.alloc(4)]);
  const header = Buffer.from([1, 0, 0, 0, 0, 0, payload.length]);
  return Buffer.concat([header, payload, Buffer.from([0xce])]);
}

/** The driver tells of an end at once, which may be before anybody listens. */
export function closing(port: () => number): void {
  describe('a server that closes connections soon', () => {
    test.each(['connection', 'channel'] as const)(
      'in one piece with its answer to the opening of a %s: all works afterwards',
      async (after) => {
        await using way = new Closing(port(), after);
        const { component } = await openComponent(await way.listen());
        const topic = newTopic();
        way.left = 1;
        await publishTexts(component, topic, ['first']);
        way.left = 1;
        const join = (): Promise<Collector> => Collector.join(component, { topic }, acknowledge);
        const consumer = await vi.waitFor(join, { timeout: 5_000 });
        await publishTexts(component, topic, ['second']);
        await consumer.expect(1);
        expect(way.left).toBe(0);
        await component.close();
      },
    );

    test('is connected to again at once, and then with growing delays', async () => {
      await using way = new Closing(port(), 'connection', 20);
      const amqp = await loadAmqp();
      const { name, target, socket } = serverAt({ url: urlOf(await way.listen()) });
      const connection = new RabbitConnection({
        server: name,
        connect: () => amqp.connect(target, socket(amqp, 'closing')),
        backoff: RECONNECT,
        random: () => 0,
        logger: new RecordingLogger(),
        outages: new OutageLog(new RecordingLogger(), name),
      });
      way.left = Number.POSITIVE_INFINITY;
      const startedAt = performance.now();
      await connection.open();
      await until('it has been closed twice', () => connection.failure !== undefined);
      await expect(connection.open()).rejects.toThrow('cannot be reached: Connection closed: 320');
      await until('it was connected five times', () => way.connections === 5);
      // 100, 200 and 400 ms.
      expect(performance.now() - startedAt).toBeGreaterThan(690);
      await connection.close();
    });
  });
}
