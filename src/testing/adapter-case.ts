import type { AdapterOptions, Body, HeaderMap, RequestHandler, SidecarRequest } from '../http/message.ts';

/**
 * What only some frameworks have.
 *
 * - `body-parser`: middlewares that read the body and leave it on the request
 * - `mount-path`: mounting below a path by the framework's own means
 *
 * @public
 */
export type AdapterNeed = 'body-parser' | 'mount-path';

/**
 * What a body-parsing middleware leaves: the bytes, text, the parsed JSON or form, the parsed JSON with the raw bytes
 * beside it, or nothing although it has read the body.
 *
 * @public
 */
export type BodyParser = 'bytes' | 'text' | 'json' | 'form' | 'json-and-raw' | 'nothing';

/** How a case wants its server. @public */
export interface MountOptions extends AdapterOptions {
  /** A middleware of this kind reads every body first. Only in cases that need `body-parser`. */
  readonly bodyParser?: BodyParser;
  /** The framework mounts the adapter below this path. Only in cases that need `mount-path`. */
  readonly mountPath?: string;
}

/** A running server. @public */
export interface MountedAdapter {
  /** Its origin, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Stops it and closes its connections. */
  close(): Promise<void>;
}

/**
 * Starts a server on 127.0.0.1, on a port of the system's choice, in which the adapter under test stands in front of
 * the handler. What the adapter passes on is answered by the application behind it: status 299, and as the body the
 * method, a space, the URL as received, a space, and the body as it was still there to be read.
 *
 * @public
 */
export type MountAdapter = (handler: RequestHandler, options?: MountOptions) => Promise<MountedAdapter>;

/** One behaviour of an adapter. @public */
export interface AdapterCase {
  /** The behaviour, in words. */
  readonly name: string;
  /** What the framework must have for it. */
  readonly needs?: readonly AdapterNeed[];
  /** Rejects when the adapter behaves otherwise. The case closes what it mounts. */
  run(mount: MountAdapter): Promise<void>;
}

/** Answers of a handler that a case wrote; `status` 200 and nothing else by default. */
export interface PlainAnswer {
  readonly status?: number;
  readonly headers?: HeaderMap;
  readonly body?: Body | string;
  readonly unrouted?: true;
  readonly signal?: AbortSignal;
}

/** A sidecar in one function. */
export function handlerOf(answer: (request: SidecarRequest) => PlainAnswer | Promise<PlainAnswer>): RequestHandler {
  return {
    handle: async (request) => {
      const { status = 200, headers = {}, body = '', ...rest } = await answer(request);
      return { ...rest, status, headers, body: typeof body === 'string' ? Buffer.from(body) : body };
    },
  };
}

/** A case on one server, closed at its end. */
export function mounted(
  name: string,
  options: MountOptions & { readonly needs?: readonly AdapterNeed[] },
  start: () => { readonly handler: RequestHandler; readonly check: (url: string) => Promise<void> },
): AdapterCase {
  const { needs, ...mountOptions } = options;
  return {
    name,
    ...(needs === undefined ? {} : { needs }),
    async run(mount) {
      const { handler, check } = start();
      const server = await mount(handler, mountOptions);
      try {
        await check(server.url);
      } finally {
        await server.close();
      }
    },
  };
}

/** Every byte of a body. */
export async function bytesOf(body: Body): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A promise, and the function that resolves it. */
export interface Gate<T> {
  readonly opened: Promise<T>;
  readonly open: (value: T) => void;
}

/** Makes a gate. */
export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
