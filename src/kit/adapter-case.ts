import { isUint8Array } from 'node:util/types';
import type { AdapterOptions, Body, HeaderMap, RequestHandler, SidecarRequest } from '../http/message.ts';

/**
 * Optional capabilities of frameworks.
 *
 * - `body-parser`: middlewares that read the body and leave it on the request
 * - `mount-path`: the framework can mount handlers under a path
 *
 * @public
 */
export type AdapterNeed = 'body-parser' | 'mount-path';

/**
 * The result that a body-parsing middleware leaves on the request: the bytes, text, the parsed JSON or form, the parsed
 * JSON with the raw bytes, or nothing although it has read the body.
 *
 * @public
 */
export type BodyParser = 'bytes' | 'text' | 'json' | 'form' | 'json-and-raw' | 'nothing';

/** The server that a case needs. @public */
export interface MountOptions extends AdapterOptions {
  /** A middleware that reads every body first. Only in cases that need `body-parser`. */
  readonly bodyParser?: BodyParser;
  /** The path under which the framework mounts the adapter. Only in cases that need `mount-path`. */
  readonly mountPath?: string;
}

/** A running server. @public */
export interface MountedAdapter {
  /** Its origin, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Stops the server and closes its connections. */
  close(): Promise<void>;
}

/**
 * Starts a server on 127.0.0.1, on any free port, with the adapter under test in front of the handler. Requests that
 * the adapter passes on are answered by the application behind it, with status 299 and a body of the method, a space,
 * the URL as received, a space, and the part of the body that can still be read.
 *
 * @public
 */
export type MountAdapter = (handler: RequestHandler, options?: MountOptions) => Promise<MountedAdapter>;

/** One behaviour of an adapter. @public */
export interface AdapterCase {
  /** A description of the behaviour. */
  readonly name: string;
  /** The capabilities that it needs. */
  readonly needs?: readonly AdapterNeed[];
  /** Rejects if the adapter behaves differently. The case closes the servers it starts. */
  run(mount: MountAdapter): Promise<void>;
}

/** The response of a case's handler; by default an empty 200. */
export interface PlainAnswer {
  readonly status?: number;
  readonly headers?: HeaderMap;
  readonly body?: Body | string;
  readonly unrouted?: true;
  readonly signal?: AbortSignal;
}

/** A sidecar that is one function. */
export function handlerOf(answer: (request: SidecarRequest) => PlainAnswer | Promise<PlainAnswer>): RequestHandler {
  return {
    handle: async (request) => {
      const { status = 200, headers = {}, body = '', ...rest } = await answer(request);
      return { ...rest, status, headers, body: typeof body === 'string' ? Buffer.from(body) : body };
    },
  };
}

/** A case with one server, closed at its end. */
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

/** Reads a body to its end. */
export async function bytesOf(body: Body): Promise<Buffer> {
  if (isUint8Array(body)) return Buffer.from(body);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A promise and the function that resolves it. */
export interface Gate<T> {
  readonly opened: Promise<T>;
  readonly open: (value: T) => void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
