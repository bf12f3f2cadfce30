import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { type Target, tryPortion } from '../portion.ts';
import { withDeadline } from '../with-deadline.ts';
import { FuzzedSidecar, KINDS } from './fuzzed-sidecar.ts';
import { HttpSession, withUpstream } from './in-process.ts';
import { problemOf, type Reply } from './judge.ts';
import { parseReplies } from './parse-replies.ts';
import { brokenConnections, type Connection, encoded, piecesOf, soundConnections } from './wire-bytes.ts';

const RUNS = 80;
const MAX_AT_ONCE = 6;
/** Many times what the slowest disk needs: what takes longer hangs. */
const CLOSE_MS = 30_000;
/** Asks the server to close the connection; its answer shows that none before it went missing. */
const LAST = Buffer.from('GET /last-of-all HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n');

/** Bytes on real sockets, cut anywhere. */
export const sockets: Target = {
  name: 'socket',
  open: async () => {
    const opened: FuzzedSidecar[] = [];
    for (const kind of KINDS) opened.push(await FuzzedSidecar.open(kind));
    return new HttpSession(opened, portion);
  },
};

async function portion(fuzzed: FuzzedSidecar, seed: number): Promise<number> {
  let count = 0;
  const { wire } = fuzzed.kind;
  const some = fc.oneof(
    fc.array(
      soundConnections(wire).map((connection) => ({ connection, isSound: true })),
      { minLength: 1, maxLength: MAX_AT_ONCE },
    ),
    fc.array(
      brokenConnections(wire).map((connection) => ({ connection, isSound: false })),
      { minLength: 1, maxLength: MAX_AT_ONCE },
    ),
  );
  const attempt = async (
    group: readonly { readonly connection: Connection; readonly isSound: boolean }[],
  ): Promise<void> => {
    if (fuzzed.isShuttingDown) await fuzzed.tidyUp();
    for (const { connection } of group) count += connection.specs.length;
    await Promise.all(
      group.map(({ connection, isSound }) => (isSound ? trySound(fuzzed, connection) : tryBroken(fuzzed, connection))),
    );
  };
  await tryPortion(some, attempt, { seed, numRuns: RUNS });
  return count;
}

/** Every request gets one answer, in order. */
async function trySound(fuzzed: FuzzedSidecar, connection: Connection): Promise<void> {
  const specs = connection.specs.map((spec) => withUpstream(spec, fuzzed.upstream));
  const bytes = Buffer.concat([
    ...specs.map((spec, index) => encoded(spec, connection.framings[index] ?? 'length')),
    LAST,
  ]);
  const received = await exchange(fuzzed, piecesOf(bytes, connection), 'wait');
  const { replies, rest } = parseReplies(
    received,
    specs.map(({ method }) => method),
  );
  const statuses = replies.map(({ status }) => status).join();
  if (replies.length !== specs.length + 1 || rest.length > 0)
    throw new Error(
      `${specs.length + 1} answers are due, ${replies.length} came: ${statuses}, then ${rest.length} bytes`,
    );
  for (const [index, spec] of specs.entries()) {
    const reply = replies[index];
    const problem = reply && problemOf(reply, spec, fuzzed);
    if (problem !== undefined)
      throw new Error(`answer ${index}, ${fuzzed.kind.wire}, ${fuzzed.kind.store}: ${problem}`);
  }
  if (replies.at(-1)?.status !== 404) throw new Error(`the last answer is not that to the last request: ${statuses}`);
}

/** The connection ends in time, and what came on it is HTTP and no failure. */
async function tryBroken(fuzzed: FuzzedSidecar, connection: Connection): Promise<void> {
  const specs = connection.specs.map((spec) => withUpstream(spec, fuzzed.upstream));
  const bytes = Buffer.concat(specs.map((spec, index) => encoded(spec, connection.framings[index] ?? 'length')));
  const received = await exchange(fuzzed, piecesOf(bytes, connection), connection.ending);
  for (const reply of parseReplies(received, []).replies) {
    if (isOfServer(reply)) continue;
    const problem = problemOf(
      reply,
      { method: 'GET', target: 'start', headers: [['location', '']], body: { text: '' } },
      fuzzed,
    );
    if (problem !== undefined) throw new Error(`${fuzzed.kind.wire}, ${fuzzed.kind.store}: ${problem}`);
  }
}

/** What Node answers to what it cannot read. */
function isOfServer({ status, headers, body }: Reply): boolean {
  return [400, 408, 413, 417, 431, 505].includes(status) && headers['content-type'] === undefined && body.length === 0;
}

/** Sends the pieces, and gives what came until the connection was closed. */
async function exchange(
  { server }: FuzzedSidecar,
  pieces: readonly Buffer[],
  ending: Connection['ending'] | 'wait',
): Promise<Buffer> {
  const socket = connect(server.port, '127.0.0.1');
  socket.setNoDelay(true);
  const received: Buffer[] = [];
  socket.on('data', (part: Buffer) => received.push(part));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  try {
    await sendAll(socket, pieces);
    if (ending === 'end') socket.end();
    else if (ending === 'abort') socket.destroy();
    else if (ending === 'reset') socket.resetAndDestroy();
    await withDeadline(CLOSE_MS, 'the end of a connection', () => closed);
    return ending === 'wait' || ending === 'end' ? Buffer.concat(received) : Buffer.alloc(0);
  } finally {
    socket.destroy();
  }
}

/** Each piece by itself, so that the server may read it before the next one. */
async function sendAll(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return;
    if (piece.length > 0) socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
