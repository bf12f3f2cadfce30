import assert from 'node:assert/strict';
import { isUint8Array } from 'node:util/types';
import { memoryPubSub } from '../components/memory/memory-pubsub.ts';
import { Sidecar } from '../sidecar/sidecar.ts';
import { type AdapterCase, gate, handlerOf, mounted } from './adapter-case.ts';
import { flood, RawClient, stalled } from './adapter-client.ts';

const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'x');
/** More than the system's socket buffers hold on both sides. */
const STREAM_BYTES = 64 * MIB;
/** Max bytes in flight while both sides wait: those buffers, and ours. */
const UNDERWAY_BYTES = 24 * MIB;
const REFUSED_BYTES = 100 * MIB;
/** Far below the bytes sent, but above the dropped chunks that are not yet collected. */
const GROWTH_BYTES = 80 * MIB;

const backPressure: readonly AdapterCase[] = [
  mounted('slows down a client that sends faster than the handler reads', {}, () => {
    const begun = gate();
    const goOn = gate();
    return {
      handler: handlerOf(async ({ body }) => {
        let bytes = 0;
        for await (const chunk of body as AsyncIterable<Uint8Array>) {
          begun.open();
          bytes += chunk.length;
          await goOn.opened;
        }
        return { body: `${bytes} bytes` };
      }),
      async check(url) {
        using client = new RawClient(url);
        client.send('POST / HTTP/1.1', 'host: a', `content-length: ${STREAM_BYTES}`, 'connection: close', '', '');
        const { sent } = flood(client.socket, CHUNK, STREAM_BYTES / CHUNK.length);
        await begun.opened;
        const inFlight = await stalled(sent);
        assert.ok(inFlight < UNDERWAY_BYTES, `${inFlight} bytes were taken from the client`);
        goOn.open();
        assert.match(await client.all(), new RegExp(`${STREAM_BYTES} bytes`));
      },
    };
  }),
  mounted('slows down a handler that writes faster than the client reads', {}, () => {
    let produced = 0;
    async function* body(): AsyncGenerator<Uint8Array> {
      for (; produced < STREAM_BYTES; produced += CHUNK.length) yield CHUNK;
    }
    return {
      handler: handlerOf(() => ({ headers: { 'content-length': String(STREAM_BYTES) }, body: body() })),
      async check(url) {
        using client = new RawClient(url);
        client.send('GET / HTTP/1.1', 'host: a', 'connection: close', '', '');
        await client.until(() => client.receivedBytes > 0);
        client.socket.pause();
        const inFlight = await stalled(() => produced);
        assert.ok(inFlight < UNDERWAY_BYTES, `${inFlight} bytes were taken from the handler`);
        client.socket.resume();
        await client.all();
        assert.ok(client.receivedBytes > STREAM_BYTES, `${client.receivedBytes} bytes arrived`);
      },
    };
  }),
];

const bothWays: readonly AdapterCase[] = [
  mounted('streams the answer while the body of the request still comes', {}, () => ({
    handler: handlerOf(({ body }) => ({ body: isUint8Array(body) ? body : echo(body) })),
    async check(url) {
      using client = new RawClient(url);
      client.send(
        'POST / HTTP/1.1',
        'host: a',
        'content-type: application/x-ndjson',
        'transfer-encoding: chunked',
        '',
        '',
      );
      for (const line of ['one', 'two', 'six']) {
        client.send('4', `${line}\n`, '');
        await client.until(() => client.received.includes(line));
      }
      assert.match(client.received, /^HTTP\/1\.1 200 /);
    },
  })),
];

async function* echo(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* body;
}

const NEXT = ['GET /v1.0/healthz HTTP/1.1', 'host: a', 'connection: close', '', ''];
const CHUNKED = Buffer.concat([Buffer.from('10000\r\n'), CHUNK, Buffer.from('\r\n')]);

/** Both ways to send a body, on a kept connection and on one to be closed. */
const UPLOADS = ['keep-alive', 'close'].flatMap((connection) => [
  { connection, length: `content-length: ${REFUSED_BYTES}`, chunk: CHUNK, end: '' },
  { connection, length: 'transfer-encoding: chunked', chunk: CHUNKED, end: '0\r\n\r\n' },
]);

const refused: readonly AdapterCase[] = UPLOADS.map(({ connection, length, chunk, end }) => ({
  name: `rejects 100 MB without buffering them: ${length}, connection: ${connection}`,
  async run(mount) {
    await using sidecar = new Sidecar({ appId: 'adapter', components: [memoryPubSub('pubsub')] });
    await sidecar.start();
    const server = await mount(sidecar);
    try {
      using client = new RawClient(server.url);
      const memory = new MemoryWatch();
      client.send('POST /v1.0/publish/pubsub/topic HTTP/1.1', 'host: a', length, `connection: ${connection}`, '', '');
      // Sends everything, whatever the response: a server cannot rely on clients to stop.
      const sending = flood(client.socket, chunk, REFUSED_BYTES / CHUNK.length, () => memory.look());
      await client.until(() => client.received.includes('ERR_BODY_TOO_LARGE'));
      assert.match(client.received, /^HTTP\/1\.1 413 /);
      await sending.done;
      client.send(end + NEXT[0], ...NEXT.slice(1));
      await client.all();
      assert.ok(memory.growth < GROWTH_BYTES, `memory grew by ${memory.growth} bytes`);
      if (connection === 'keep-alive') assert.match(client.received, /HTTP\/1\.1 204 /);
    } finally {
      await server.close();
    }
  },
}));

/** Measures the maximum growth of the process. */
class MemoryWatch {
  readonly #before = bytesInUse();
  #most = this.#before;

  look(): void {
    this.#most = Math.max(this.#most, bytesInUse());
  }

  get growth(): number {
    return this.#most - this.#before;
  }
}

function bytesInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Cases about back-pressure, streams both ways, and rejected bodies. */
export const flowCases: readonly AdapterCase[] = [...backPressure, ...bothWays, ...refused];
