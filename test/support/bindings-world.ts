import type { IncomingMessage } from 'node:http';
import type { BindingDefinition, BindingRequest, BindingResponse, DeliverBindingEvent } from '../../src/kit/index.ts';
import type { Answer } from './http.ts';
import { openServers, ServedSidecar, type TestApp, type Way } from './served.ts';
import type { TestSidecarOptions } from './sidecar.ts';

/** A request that the application got. */
export interface AppRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What the application answers. Default: 200, and 404 to `OPTIONS`. */
export interface AppAnswer {
  readonly status?: number;
  readonly body?: unknown;
  /** Whether it closes the connection instead. */
  readonly closes?: boolean;
}

/** An application that records all that it gets. */
export class BindingsApp implements TestApp {
  readonly requests: AppRequest[] = [];
  answer: (request: AppRequest, nth: number) => AppAnswer | undefined | Promise<AppAnswer | undefined> = () =>
    undefined;

  readonly listener: TestApp['listener'] = (req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', async () => {
      const { method = '', url = '', headers } = req;
      const request = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      if (method === 'GET') return res.writeHead(404).end();
      this.requests.push(request);
      const { status = 200, body = '', closes } = (await this.answer(request, this.of(method).length)) ?? {};
      if (closes) return req.socket.destroy();
      return res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  };

  /** The requests with a method. */
  of(method: string): readonly AppRequest[] {
    return this.requests.filter((request) => request.method === method);
  }
}

/** A sidecar with bindings behind a real HTTP server. */
export class BindingsWorld extends ServedSidecar<BindingsApp> {
  /** The events that the application got. */
  get delivered(): readonly AppRequest[] {
    return this.app.of('POST');
  }

  invoke(name: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send('POST', `/v1.0/bindings/${name}`, { body, headers });
  }

  async metadata(): Promise<readonly { readonly name: string; readonly capabilities: readonly string[] }[]> {
    const { text } = await this.send('GET', '/v1.0/metadata');
    return (JSON.parse(text) as { readonly components: never }).components;
  }
}

export interface BindingsWorldOptions extends TestSidecarOptions {
  readonly components: TestSidecarOptions['components'] & object;
  readonly answer?: BindingsApp['answer'];
  /** Default: on a port. */
  readonly via?: Way;
  /** Default: true. */
  readonly hasApp?: boolean;
}

/** Makes a world whose sidecar has not been started. */
export async function createBindingsWorld({
  answer,
  via = 'port',
  hasApp = true,
  ...options
}: BindingsWorldOptions): Promise<BindingsWorld> {
  const app = new BindingsApp();
  if (answer !== undefined) app.answer = answer;
  const { target, ...servers } = await openServers(app, via);
  return new BindingsWorld(app, servers, { ...options, ...(hasApp ? { app: target } : {}) });
}

/** Makes a world whose sidecar runs. */
export async function bindingsWorld(options: BindingsWorldOptions): Promise<BindingsWorld> {
  const world = await createBindingsWorld(options);
  await world.start();
  return world;
}

/** A binding of a user's own, in both directions, whose outside is the test. */
export class OwnBinding {
  readonly calls: BindingRequest[] = [];
  /** Set while it is read. */
  deliver: DeliverBindingEvent | undefined;
  isClosed = false;
  failure: Error | undefined;
  answer: (request: BindingRequest) => BindingResponse | undefined | Promise<BindingResponse | undefined> = () =>
    undefined;

  definition(name: string, parts: Partial<BindingDefinition> = {}): BindingDefinition {
    const own = this;
    return {
      ...{ block: 'bindings', name, type: 'bindings.own', version: 'v1', options: {} },
      directions: ['input', 'output'],
      operations: ['create', 'get'],
      open: async () => ({
        get failure() {
          return own.failure;
        },
        invoke: async (request) => {
          own.calls.push(request);
          return own.answer(request);
        },
        read: async (deliver, signal) => {
          own.deliver = deliver;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          own.deliver = undefined;
        },
        close: async () => {
          own.isClosed = true;
        },
      }),
      ...parts,
    };
  }
}
