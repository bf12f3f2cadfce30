import { asBuffer } from '../../src/http/body.ts';
import { request } from '../../src/http/message.ts';
import { type KeyValueOptions, keyValueStore, memoryState, type WireName } from '../../src/index.ts';
import { TestSidecar, type TestSidecarOptions } from './sidecar.ts';

/** An answer of the HTTP API. */
export interface StateAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** `undefined` without a body in JSON. */
  readonly json: unknown;
  /** The status and the code of an error. */
  readonly error: readonly unknown[];
}

/** Options of a {@link StateWorld}. */
export interface StateWorldOptions extends TestSidecarOptions {
  readonly store?: KeyValueOptions;
  readonly wire?: WireName;
}

/** A sidecar with the state stores `memory` and `own`. */
export class StateWorld extends TestSidecar {
  constructor({ store, components = [], ...options }: StateWorldOptions = {}) {
    const memory = keyValueStore('memory', { store: memoryState(), ...store });
    super({ ...options, components: [memory, keyValueStore('own', store), ...components] });
  }

  /** Sends a request; a body that is no text is sent as JSON. */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<StateAnswer> {
    const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const sent = isRaw ? body : JSON.stringify(body);
    const answer = await this.sidecar.handle(request(method, path, { headers, body: sent }));
    const text = asBuffer(answer.body as Uint8Array).toString();
    const isJson = String(answer.headers['content-type']).includes('json');
    const json: unknown = isJson ? JSON.parse(text) : undefined;
    const { errorCode } = (json ?? {}) as { readonly errorCode?: unknown };
    return { status: answer.status, headers: answer.headers, text, json, error: [answer.status, errorCode] };
  }

  /** Saves one value and returns its ETag. */
  async save(store: string, key: string, value: unknown = key): Promise<string> {
    const { status, text } = await this.send('POST', `/v1.0/state/${store}`, [{ key, value }]);
    if (status !== 204) throw new Error(`a save failed: ${status} ${text}`);
    return String((await this.send('GET', `/v1.0/state/${store}/${encodeURIComponent(key)}`)).headers['etag']);
  }

  /** The value of a key; `undefined` if it does not exist. */
  async read(store: string, key: string): Promise<unknown> {
    const { status, json } = await this.send('GET', `/v1.0/state/${store}/${encodeURIComponent(key)}`);
    return status === 204 ? undefined : json;
  }
}

/** A world whose sidecar runs. */
export async function startStateWorld(options: StateWorldOptions = {}): Promise<StateWorld> {
  const world = new StateWorld(options);
  await world.start();
  return world;
}
