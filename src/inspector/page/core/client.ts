import { signal } from '@preact/signals';
import type { ApiError } from '../../api/apps.ts';
import type { Reads, Writes } from './endpoints.ts';
import { formatQuery, type HashQuery } from './hash.ts';

/** Why a call failed, in words for people. */
export class ApiFailure extends Error {
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  readonly errorCode: string;

  constructor(status: number, error: ApiError) {
    super(error.message);
    this.status = status;
    this.errorCode = error.errorCode;
  }
}

/** The application that all calls are about: the `key` of one; absent for the first. */
export const appKey = signal<string | undefined>(undefined);

/** Why the server lets this browser see nothing. */
export const denied = signal<ApiFailure | undefined>(undefined);

/** The URL of a call, relative to the page: proxies may add and strip prefixes. */
export function urlOf(path: string, query: HashQuery = {}): string {
  return `api/v1/${path}${formatQuery({ app: appKey.value, ...query })}`;
}

export async function get<P extends keyof Reads>(path: P, query?: HashQuery, signal?: AbortSignal): Promise<Reads[P]> {
  const reply = await call(urlOf(path, query), signal === undefined ? {} : { signal });
  denied.value = undefined;
  return reply as Reads[P];
}

export async function post<P extends keyof Writes>(path: P, body: Writes[P][0]): Promise<Writes[P][1]> {
  return call(urlOf(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'insidecar-inspector': '1' },
    body: JSON.stringify(body),
  });
}

async function call(url: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(url, init).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error;
    throw new ApiFailure(0, { errorCode: 'NO_ANSWER', message: 'No answer: is the application still running?' });
  });
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : JSON.parse(text);
  const failure = new ApiFailure(response.status, errorOf(response, text));
  if (response.status === 401 || (response.status === 403 && init.method === undefined)) denied.value = failure;
  throw failure;
}

/** A proxy on the way may answer with a page of its own. */
function errorOf(response: Response, text: string): ApiError {
  try {
    const { errorCode, message } = JSON.parse(text) as Partial<ApiError>;
    if (typeof message === 'string') return { errorCode: String(errorCode), message };
  } catch {}
  return { errorCode: 'UNKNOWN', message: `The server answered ${response.status} ${response.statusText}`.trim() };
}

/** The text for people about a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
