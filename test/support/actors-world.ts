import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer, Sent } from './http.ts';
import { openServers, ServedSidecar, type TestApp, type Way } from './served.ts';
import type { TestSidecarOptions } from './sidecar.ts';

/** A request that the application got. */
export interface ActorRequest {
  readonly method: string;
  /** Path and query, as they came. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What the application answers. Default: 200 without a body. */
export interface ActorAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

/** An application with actors that records what it gets. */
export class ActorApp implements TestApp {
  /** What it answers to the question for its actors. */
  configuration: ActorAnswer;
  readonly requests: ActorRequest[] = [];
  readonly questions: ActorRequest[] = [];
  answer: (request: ActorRequest, nth: number) => ActorAnswer | undefined | Promise<ActorAnswer | undefined> = () =>
    undefined;

  constructor(configuration: unknown) {
    this.configuration = { body: configuration };
  }

  readonly listener = (req: IncomingMessage, res: ServerResponse): void => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url: path = '', headers } = req;
      void this.#take({ method, path, headers, body: Buffer.concat(chunks).toString() }, res);
    });
  };

  async #take(request: ActorRequest, res: ServerResponse): Promise<void> {
    if (request.path.endsWith('/config')) {
      this.questions.push(request);
      return write(res, this.configuration);
    }
    if (request.method !== 'PUT' && request.method !== 'DELETE') return write(res, { status: 404 });
    this.requests.push(request);
    write(res, (await this.answer(request, this.requests.length)) ?? {});
  }

  /** The requests with a method: `PUT` for turns, `DELETE` for actors that became inactive. */
  of(method: string): readonly ActorRequest[] {
    return this.requests.filter((request) => request.method === method);
  }
}

function write(res: ServerResponse, { status = 200, headers = {}, body = '' }: ActorAnswer): void {
  res.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A sidecar with actors behind a real HTTP server. */
export class ActorsWorld extends ServedSidecar<ActorApp> {
  call(path: string, sent?: Sent, method = 'POST'): Promise<Answer> {
    return this.send(method, `/v1.0/actors/${path}`, sent);
  }
}

export interface ActorsWorldOptions extends TestSidecarOptions {
  /** The answer of the application to the question for its actors. Default: it hosts `Cart`. */
  readonly configuration?: unknown;
  /** The answer with its status, if that is another one than 200 with `configuration`. */
  readonly configurationAnswer?: ActorAnswer;
  readonly answer?: ActorApp['answer'];
  /** Default: on a port. */
  readonly via?: Way;
}

/** Makes a world whose sidecar has not been started. */
async function createActorsWorld({
  configuration = { entities: ['Cart'] },
  configurationAnswer = { body: configuration },
  answer,
  via = 'port',
  ...options
}: ActorsWorldOptions = {}): Promise<ActorsWorld> {
  const app = new ActorApp(configuration);
  app.configuration = configurationAnswer;
  if (answer !== undefined) app.answer = answer;
  const { target, ...servers } = await openServers(app, via);
  return new ActorsWorld(app, servers, { app: target, ...options });
}

/** Makes a world whose sidecar runs, and knows the types of the application. */
export async function actorsWorld(options: ActorsWorldOptions = {}): Promise<ActorsWorld> {
  const world = await createActorsWorld(options);
  await world.start();
  return world;
}
