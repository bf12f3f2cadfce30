import { SidecarError } from '../errors.ts';
import { readBody } from '../http/body.ts';
import { cancelTokenOf, type HeaderMap, type SidecarRequest, type SidecarResponse } from '../http/message.ts';
import { decodeInvokeResponse, encodeInvokeRequest, type InvokeRequest, type InvokeResponse } from './grpc-messages.ts';
import {
  type GrpcCall,
  type GrpcClient,
  type GrpcError,
  type GrpcMetadata,
  type GrpcModule,
  loadGrpc,
} from './grpc-module.ts';
import { accepts } from './http-channel.ts';
import type { AppTransport } from './transport.ts';

const ON_INVOKE = '/dapr.proto.runtime.v1.AppCallback/OnInvoke';
/** Of a request and of a response: gRPC messages are held in memory. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The default maximum is two minutes, too long for an application that restarts. */
const RECONNECT_MS = { initial: 100, max: 1_000 };
/** Error messages show the beginning of the status details. */
const SHOWN_DETAILS = 500;

/** The application is a gRPC server that implements Dapr's `AppCallback`; it gets invocations only. */
export function grpcTransport(port: number, host: string, load: () => Promise<GrpcModule> = loadGrpc): AppTransport {
  const connection = new GrpcConnection(`${host.includes(':') ? `[${host}]` : host}:${port}`, load);
  return {
    address: { host, port, protocol: 'grpc' },
    handle: (request) => connection.invoke(request),
    open: async () => void (await connection.open()),
    isReachable: () => accepts(port, host),
    close: () => connection.close(),
  };
}

interface Opened {
  readonly grpc: GrpcModule;
  readonly client: GrpcClient;
}

class GrpcConnection {
  readonly #address: string;
  readonly #load: () => Promise<GrpcModule>;
  #opened: Promise<Opened> | undefined;
  /** Closing a client does not cancel these. */
  readonly #running = new Set<GrpcCall>();

  constructor(address: string, load: () => Promise<GrpcModule>) {
    this.#address = address;
    this.#load = load;
  }

  open(): Promise<Opened> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<Opened> {
    const grpc = await this.#load();
    const client = new grpc.Client(this.#address, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.initial_reconnect_backoff_ms': RECONNECT_MS.initial,
      'grpc.min_reconnect_backoff_ms': RECONNECT_MS.initial,
      'grpc.max_reconnect_backoff_ms': RECONNECT_MS.max,
    });
    return { grpc, client };
  }

  async close(): Promise<void> {
    for (const running of this.#running) running.cancel();
    const opened = await this.#opened?.catch(() => undefined);
    opened?.client.close();
  }

  async invoke(request: SidecarRequest): Promise<SidecarResponse> {
    const [opened, data] = await Promise.all([this.open(), readBody(request, MAX_MESSAGE_BYTES)]);
    const { reply, headers } = await this.#call(opened, request, messageOfRequest(request, data));
    const { data: body, contentType } = reply;
    return { status: 200, headers: contentType === '' ? headers : { ...headers, 'content-type': contentType }, body };
  }

  #call({ grpc, client }: Opened, request: SidecarRequest, message: InvokeRequest): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const cancelToken = cancelTokenOf(request);
      if (cancelToken.aborted) throw cancelToken.reason;
      let headers: HeaderMap = {};
      const answered = (error: GrpcError | null, reply?: InvokeResponse): void => {
        unsubscribe();
        this.#running.delete(running);
        if (error === null && reply !== undefined) resolve({ reply, headers });
        else reject(cancelToken.aborted ? cancelToken.reason : failure(grpc, error));
      };
      const metadata = toMetadata(grpc, request.headers);
      const codec = [encodeInvokeRequest, decodeInvokeResponse] as const;
      const running = client.makeUnaryRequest(ON_INVOKE, ...codec, message, metadata, answered);
      this.#running.add(running);
      running.on('metadata', (received) => {
        headers = toHeaders(received);
      });
      const unsubscribe = cancelToken.onAbort(() => running.cancel());
    });
  }
}

function messageOfRequest({ method: verb, path, search, headers }: SidecarRequest, data: Uint8Array): InvokeRequest {
  const contentType = headers['content-type'];
  return {
    method: path.replace(/^\/+/, ''),
    data,
    contentType: typeof contentType === 'string' ? contentType : '',
    verb,
    queryString: search,
  };
}

interface Answered {
  readonly reply: InvokeResponse;
  readonly headers: HeaderMap;
}

/** Status 500 with the gRPC status in the message, as in the API document. */
function failure(grpc: GrpcModule, error: GrpcError | null): SidecarError {
  const { code = -1, details = 'no answer' } = error ?? {};
  const name = grpc.status[code] ?? 'UNKNOWN';
  const shown = details.length > SHOWN_DETAILS ? `${details.slice(0, SHOWN_DETAILS)}…` : details;
  const message = `the gRPC application answered with status ${name} (${code}): ${shown}`;
  return new SidecarError('ERR_DIRECT_INVOKE', message, { cause: error, reason: 'answer' });
}

/** Header fields of HTTP and gRPC themselves. */
const NO_METADATA: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection transfer-encoding upgrade http2-settings te trailer host expect content-length content-type user-agent date'.split(
    ' ',
  ),
);

function isMetadata(name: string): boolean {
  return !NO_METADATA.has(name) && !name.startsWith('grpc-') && !name.endsWith('-bin') && /^[0-9a-z_.-]+$/.test(name);
}

/** Leaves out names and values that gRPC cannot carry. */
function toMetadata(grpc: GrpcModule, headers: HeaderMap): GrpcMetadata {
  const metadata = new grpc.Metadata();
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value === undefined || !isMetadata(name)) continue;
    for (const one of typeof value === 'string' ? [value] : value) if (/^[ -~]*$/.test(one)) metadata.add(name, one);
  }
  return metadata;
}

function toHeaders(metadata: GrpcMetadata): HeaderMap {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(metadata.getMap()))
    if (typeof value === 'string' && isMetadata(name)) headers[name] = value;
  return headers;
}
