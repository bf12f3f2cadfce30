import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../errors.ts';
import { nodeHttp } from '../../util/node-http.ts';

/** How long a client may take to read the answer and to stop sending. */
const LINGER_MS = 1_000;

/** A request that cannot be read, and its answer. */
interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

/** An error of Node's parser; `reason` is the parser's own text, without anything of the request. */
type ClientError = NodeJS.ErrnoException & { readonly reason?: unknown };

/** A socket of node:http; the response is the one whose turn it is. */
type HttpSocket = Duplex & { readonly _httpMessage?: { readonly headersSent: boolean } | null };

/** Answers what Node's parser refuses as the API does, with an error in JSON, and closes the connection. */
export function answerClientError(error: ClientError, socket: HttpSocket, headLimitBytes: number): void {
  const refusal = refusalOf(error, headLimitBytes);
  // The parser complains again about what comes after its first complaint.
  if (socket.writableEnded) return;
  if (refusal === undefined || !socket.writable || socket._httpMessage?.headersSent) return void socket.destroy();
  const { status } = refusal;
  const body = bodyOf(refusal);
  const fields = `connection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`HTTP/1.1 ${status} ${nodeHttp().STATUS_CODES[status] ?? ''}\r\n${fields}\r\n\r\n${body}`);
  // Closed at once, while the client still sends, the connection could lose the answer.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Refuses a request of HTTP/1.1 without a host, as it must be (RFC 9112, 3.2). Returns whether it did. */
export function refuseWithoutHost(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.httpVersion !== '1.1' || req.headers.host !== undefined) return false;
  const refusal: Refusal = { status: 400, code: 'ERR_BAD_REQUEST', message: 'the header host is missing' };
  const body = bodyOf(refusal);
  const headers = { connection: 'close', 'content-type': 'application/json', 'content-length': body.length };
  res.writeHead(400, headers).end(body);
  return true;
}

function bodyOf({ code, message }: Refusal): string {
  return JSON.stringify({ errorCode: code, message });
}

/** `undefined` if the connection itself has failed. */
function refusalOf({ code = '', reason }: ClientError, headLimitBytes: number): Refusal | undefined {
  const bad = { status: 400, code: 'ERR_BAD_REQUEST' } as const;
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        ...bad,
        status: 431,
        message: `the head of the request is larger than the ${headLimitBytes} bytes that are read: --read-buffer-size sets more`,
      };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, code: 'ERR_BODY_TOO_LARGE', message: 'the chunks of the request have too long extensions' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { ...bad, status: 408, message: 'the head of the request has not come in time' };
    case 'HPE_PAUSED_H2_UPGRADE':
      return { ...bad, status: 505, message: 'HTTP/2 without TLS is not spoken here: expected HTTP/1.1' };
    default:
      if (!code.startsWith('HPE_')) return undefined;
      return { ...bad, message: `the request is not valid HTTP/1.1: ${String(reason)}` };
  }
}
