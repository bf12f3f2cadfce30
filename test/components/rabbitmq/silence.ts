import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { OutageLog } from '../../../src/components/outage-log.ts';
import { type AmqpConnection, loadAmqp } from '../../../src/components/rabbitmq/driver.ts';
import { RabbitConnection } from '../../../src/components/rabbitmq/rabbit-connection.ts';
import { RECONNECT } from '../../../src/components/reconnector.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { serverAt, urlOf } from './broker.ts';
import { Way } from './way.ts';

/** A way to the server that can fall silent like a process that stands still: not even the end of a socket is answered. */
class Silent extends Way {
  isSilent = false;
  protected readonly server;

  constructor(target: number) {
    super();
    this.server = createServer({ allowHalfOpen: true }, (inbound) => {
      const outbound = connect(target, '127.0.0.1');
      this.#pass(inbound, outbound);
      this.#pass(outbound, inbound);
    });
  }

  #pass(from: Socket, to: Socket): void {
    this.sockets.push(from);
    from.on('error', () => undefined);
    from.on('data', (bytes) => this.isSilent || to.write(bytes));
    from.on('end', () => this.isSilent || to.end());
  }
}

/** A connection through it, that of the driver, and what the driver has told. */
async function connected(port: number, heartbeat: number) {
  const amqp = await loadAmqp();
  const { name, target, socket } = serverAt({ url: urlOf(port), heartbeat });
  let made: AmqpConnection | undefined;
  const connection = new RabbitConnection({
    server: name,
    connect: async () => {
      if (made !== undefined) throw new Error('one is enough');
      made = await amqp.connect(target, socket(amqp, 'silence'));
      return made;
    },
    backoff: RECONNECT,
    random: Math.random,
    logger: new RecordingLogger(),
    outages: new OutageLog(new RecordingLogger(), name),
  });
  await connection.open();
  if (made === undefined) throw new Error('not connected');
  const { stream } = made.connection as unknown as { readonly stream: Socket };
  return { connection, stream, closed: new Promise((resolve) => made?.on('close', resolve)) };
}

/** Nothing must keep the process alive after a stop. */
export function silence(port: () => number): void {
  describe('a server that stands still', () => {
    test('leaves no timers of the driver and no socket when the component ends', async () => {
      await using way = new Silent(port());
      const { connection, stream, closed } = await connected(await way.listen(), 60_000);
      way.isSilent = true;
      await connection.close();
      expect(stream.destroyed).toBe(true);
      // The driver ends its heartbeats then.
      await closed;
    });

    test('leaves no socket when its silence has been noticed', async () => {
      await using way = new Silent(port());
      const { connection, stream, closed } = await connected(await way.listen(), 1_000);
      way.isSilent = true;
      await closed;
      await expect.poll(() => stream.destroyed, { timeout: 10_000 }).toBe(true);
      await connection.close();
    });
  });
}
