import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { nodeHandler } from '../../src/index.ts';
import { type Answer, type Listening, listen, type Sent, send } from './http.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

export type Way = 'port' | 'process';

/** The two places in which an application can be. */
export const WAYS: readonly Way[] = ['port', 'process'];

/** An application of a test. */
export interface TestApp {
  readonly listener: RequestListener;
}

/** The servers around a sidecar. */
export interface Servers {
  /** The sidecar's own. */
  readonly server: Listening;
  /** The application's, when it is on a port. */
  readonly appServer: Listening | undefined;
}

/** A sidecar behind a real HTTP server, with its application. */
export class ServedSidecar<App extends TestApp> extends TestSidecar {
  readonly app: App;
  readonly server: Listening;
  readonly #appServer: Listening | undefined;

  constructor(app: App, { server, appServer }: Servers, options: TestSidecarOptions) {
    super(options);
    this.app = app;
    this.server = server;
    this.#appServer = appServer;
    server.use(nodeHandler(this.sidecar));
  }

  send(method: string, path: string, sent?: Sent): Promise<Answer> {
    return send(this.server.url, method, path, sent);
  }

  /** Sends bytes as they are, and gives everything that comes back until the server closes. */
  raw(...lines: readonly string[]): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(this.server.port, '127.0.0.1');
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(received));
      socket.write(lines.join('\r\n'), 'latin1');
    });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    await this.#appServer?.[Symbol.asyncDispose]();
  }
}

/** Opens the servers; `target` is how the sidecar reaches the application. */
export async function openServers(
  app: TestApp,
  via: Way,
): Promise<Servers & { readonly target: { readonly port: number } | { readonly listener: RequestListener } }> {
  const server = await listen();
  const appServer = via === 'port' ? await listen(app.listener) : undefined;
  const target = appServer === undefined ? { listener: app.listener } : { port: appServer.port };
  return { server, appServer, target };
}
