/** What bench/state-api.ts has done with the state API, over HTTP and in code. */
import { isDeepStrictEqual } from 'node:util';
import { ExchangeLoad, type ExchangeRequest, requestBytes } from './exchange-load.ts';
import { orderOf } from './payload.ts';

/** The name of the store. */
export const STORE = 'state';

/** One call each: of one key, of ten keys, of a hundred keys. */
export const OPERATIONS = ['get', 'set', 'transact', 'getMany'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** So many callers make calls of an operation at a time, each about keys of its own. */
export interface StateTask {
  readonly operation: Operation;
  readonly callers: number;
  readonly valueBytes: number;
}

const KEYS = 100;
const IN_TRANSACTION = 10;
const PATH = `/v1.0/state/${STORE}`;

function keysOf(caller: number): readonly string[] {
  return Array.from({ length: KEYS }, (_, index) => `order-${caller}-${index}`);
}

/** The keys of each call of a caller, one call after the other, again and again. */
export function callsOf(operation: Operation, caller: number): readonly (readonly string[])[] {
  const keys = keysOf(caller);
  const atOnce = { get: 1, set: 1, transact: IN_TRANSACTION, getMany: KEYS }[operation];
  return Array.from({ length: KEYS / atOnce }, (_, index) => keys.slice(index * atOnce, (index + 1) * atOnce));
}

function requestOf(operation: Operation, keys: readonly string[], value: string): Omit<ExchangeRequest, 'port'> {
  const items = keys.map((key) => `{"key":"${key}","value":${value}}`);
  switch (operation) {
    case 'get':
      return { method: 'GET', path: `${PATH}/${keys[0]}` };
    case 'set':
      return { method: 'POST', path: PATH, body: `[${items.join()}]` };
    case 'transact': {
      const operations = items.map((request) => `{"operation":"upsert","request":${request}}`);
      return { method: 'POST', path: `${PATH}/transaction`, body: `{"operations":[${operations.join()}]}` };
    }
    case 'getMany':
      return { method: 'POST', path: `${PATH}/bulk`, body: JSON.stringify({ keys }) };
  }
}

/**
 * Saves the values of all callers over HTTP, and checks that they are read as they were saved. In transactions: a save of
 * several items may find daprd's SQLite locked by itself.
 */
export async function fillOverHttp(port: number, callers: number, valueBytes: number): Promise<void> {
  const value = orderOf(valueBytes);
  const url = `http://127.0.0.1:${port}`;
  for (let caller = 0; caller < callers; caller++) {
    const { method, path, body } = requestOf('transact', keysOf(caller), value);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method, headers, body: String(body) });
    if (response.status !== 204) throw new Error(`a save answers ${response.status}: ${await response.text()}`);
  }
  const { path } = requestOf('get', keysOf(0), value);
  const read = await (await fetch(`${url}${path}`)).text();
  // Dapr sorts the members of values that are saved.
  if (!isDeepStrictEqual(JSON.parse(read), JSON.parse(value))) throw new Error(`not what was saved: ${read}`);
}

/** Calls over HTTP, a connection for each caller. */
export function loadOf(port: number, { operation, callers, valueBytes }: StateTask): Promise<ExchangeLoad> {
  const value = orderOf(valueBytes);
  const requestsOf = (caller: number): Buffer[] =>
    callsOf(operation, caller).map((keys) => requestBytes({ port, ...requestOf(operation, keys, value) }));
  return ExchangeLoad.open({ port, connections: callers, requestsOf });
}
