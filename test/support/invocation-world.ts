import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AppOptions } from '../../src/index.ts';
import { Received } from './app.ts';
import { openServers, ServedSidecar, type TestApp, type Way } from './served.ts';
import type { TestSidecarOptions } from './sidecar.ts';

/** Answers a call; `undefined` when it has done so itself. */
export type Callee = (req: IncomingMessage, res: ServerResponse, body: Buffer) => void;

export interface InvocationWorldOptions extends TestSidecarOptions {
  /** Where the application is. Default: in this process. */
  readonly via?: Way | 'nowhere';
  /** How it is treated. */
  readonly treatment?: Pick<AppOptions, 'maxConcurrency'>;
  /** What the application does with a call whose body has come. Default: 200 with an echo. */
  readonly callee?: Callee;
  /** What it does with a call at once, instead. */
  readonly listener?: RequestListener;
}

/** Where an application is asked for its subscriptions and its actors. */
const QUESTION = /^\/(?:sidecar|dapr)\/(?:subscribe|config)$/;

/** A callee that keeps what it is asked, and echoes it. */
export class Calls implements TestApp {
  readonly list: Received[] = [];
  readonly listener: RequestListener;

  constructor(callee: Callee = (_req, res) => res.end('answered'), listener?: RequestListener) {
    this.listener = (req, res) => {
      // How the sidecar asks for subscriptions and actors is no call.
      if (QUESTION.test(req.url ?? '')) return void res.writeHead(404).end();
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

/** A sidecar behind a real HTTP server, with an application that takes any call. */
export type InvocationWorld = ServedSidecar<Calls>;

/** Starts one; the application `shop` is its own. */
export async function startInvocation(options: InvocationWorldOptions = {}): Promise<InvocationWorld> {
  const { via = 'process', treatment, callee, listener, ...overrides } = options;
  const calls = new Calls(callee, listener);
  const { target, ...servers } = await openServers(calls, via === 'port' ? 'port' : 'process');
  const app = via === 'nowhere' ? undefined : { app: { ...target, ...treatment } };
  return new ServedSidecar(calls, servers, { ...app, ...overrides }).start();
}
