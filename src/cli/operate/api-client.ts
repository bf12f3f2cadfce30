import { harmlessLines } from '../../util/harmless-text.ts';
import { CommandFailure } from '../failure.ts';

/** The parameters of a `GET`; those that are `undefined` are left out. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** The answer of the management API. */
export interface Answered {
  readonly status: number;
  readonly text: string;
}

/** A call of the management API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** Below the inspector's URL, with the query. */
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
}

/** A way to an inspector: over HTTP, or in this process. */
export interface InspectorClient extends AsyncDisposable {
  readonly send: (request: ApiRequest) => Promise<Answered>;
}

/** The management API of one application. */
export class Api {
  readonly #inspector: InspectorClient;
  readonly #app: string | undefined;

  /** @param app - its key; `undefined` for calls that are about no application */
  constructor(inspector: InspectorClient, app?: string) {
    this.#inspector = inspector;
    this.#app = app;
  }

  /** @throws Failure with the message of the API. */
  get<Reply>(path: string, query: QueryParameters = {}): Promise<Reply> {
    return this.#call('GET', path, query);
  }

  /** @throws Failure with the message of the API. */
  post<Reply>(path: string, body: object): Promise<Reply> {
    return this.#call('POST', path, {}, JSON.stringify(body));
  }

  async #call<Reply>(
    method: ApiRequest['method'],
    path: string,
    query: QueryParameters,
    body?: string,
  ): Promise<Reply> {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries({ app: this.#app, ...query }))
      if (value !== undefined) params.set(name, String(value));
    const search = params.size === 0 ? '' : `?${params}`;
    const request = { method, path: `api/v1/${path}${search}`, ...(body === undefined ? {} : { body }) };
    const { status, text } = await this.#inspector.send(request);
    if (status === 204) return undefined as Reply;
    const reply = jsonOf(text);
    if (status >= 200 && status <= 299 && reply !== undefined) return reply as Reply;
    throw new CommandFailure(harmlessLines(messageOf(reply) ?? `the inspector answered ${status}`));
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageOf(reply: unknown): string | undefined {
  const { message } = (reply ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' ? message : undefined;
}
