import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { nodeListener, Sidecar, type SidecarOptions } from '../../src/index.ts';
import type { VirtualClock } from '../../src/testing/index.ts';
import { Received } from './app.ts';
import { patientClock } from './clock.ts';
import { type Answer, type Listening, listen, type Sent, send } from './http.ts';
import { RecordingLogger, type Way } from './world.ts';

/** Answers a call; `undefined` when it has done so itself. */
export type Callee = (req: IncomingMessage, res: ServerResponse, body: Buffer) => void;

export interface InvocationWorldOptions extends Partial<SidecarOptions> {
  /** Where the application is. Default: in this process. */
  readonly via?: Way | 'nowhere';
  /** What the application does with a call whose body has come. Default: 200 with an echo. */
  readonly callee?: Callee;
  /** What it does with a call at once, instead. */
  readonly listener?: RequestListener;
}

/** A callee that keeps what it is asked, and echoes it. */
export class Calls {
  readonly list: Received[] = [];
  readonly listener: RequestListener;

  constructor(callee: Callee = (_req, res) => res.end('answered'), listener?: RequestListener) {
    this.listener = (req, res) => {
      // How the sidecar asks for subscriptions is no call.
      if (req.url === '/sidecar/subscribe' || req.url === '/dapr/subscribe') return void res.writeHead(404).end();
      if (listener !== undefined) return listener(req, res);
      const parts: Buffer[] = [];
      req.on('data', (part: Buffer) => parts.push(part));
      req.on('end', () => {
        const body = Buffer.concat(parts);
        this.list.push(new Received(req, body));
        callee(req, res, body);
      });
    };
  }

  get last(): Received {
    const last = this.list.at(-1);
    if (last === undefined) throw new Error('nothing was called');
    return last;
  }
}

/** A sidecar behind a real HTTP server, and an application that takes any call. */
export class InvocationWorld implements AsyncDisposable {
  readonly sidecar: Sidecar;
  readonly server: Listening;
  readonly calls: Calls;
  readonly clock: VirtualClock;
  readonly logger: RecordingLogger;
  readonly #closing: readonly AsyncDisposable[];

  constructor(
    parts: Pick<InvocationWorld, 'sidecar' | 'server' | 'calls' | 'clock' | 'logger'>,
    closing: readonly AsyncDisposable[],
  ) {
    this.sidecar = parts.sidecar;
    this.server = parts.server;
    this.calls = parts.calls;
    this.clock = parts.clock;
    this.logger = parts.logger;
    this.#closing = closing;
  }

  send(method: string, path: string, sent?: Sent): Promise<Answer> {
    return send(this.server.url, method, path, sent);
  }

  /** Sends bytes as they are, and gives everything that comes back until the server closes. */
  raw(...lines: readonly string[]): Promise<string> {
    return rawExchange(this.server.port, lines.join('\r\n'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.sidecar.stop();
    await this.clock.advance('1h');
    await stopped;
    for (const one of this.#closing) await one[Symbol.asyncDispose]();
  }
}

/** Starts one; the application `shop` is its own. */
export async function startInvocation(options: InvocationWorldOptions = {}): Promise<InvocationWorld> {
  const { via = 'process', callee, listener, ...overrides } = options;
  const calls = new Calls(callee, listener);
  const closing: AsyncDisposable[] = [];
  const clock = patientClock();
  const logger = new RecordingLogger();
  const app: Pick<SidecarOptions, 'app'> = {};
  if (via === 'process') Object.assign(app, { app: { listener: calls.listener } });
  if (via === 'port') {
    const server = await listen(calls.listener);
    closing.push(server);
    Object.assign(app, { app: { port: server.port } });
  }
  const sidecar = new Sidecar({ appId: 'shop', ...app, clock, logger, ...overrides });
  const server = await listen(nodeListener(sidecar));
  closing.unshift(server);
  await sidecar.start();
  return new InvocationWorld({ sidecar, server, calls, clock, logger }, closing);
}

function rawExchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
    socket.write(text, 'latin1');
  });
}
