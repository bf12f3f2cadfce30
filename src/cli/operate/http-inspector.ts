import { messageOf } from '../../errors.ts';
import { CommandFailure } from '../failure.ts';
import type { Answered, ApiRequest, InspectorClient } from './api-client.ts';

/** No call of the management API takes longer but one that changes many messages or workflows. */
const PATIENCE_MS = 10 * 60_000;

/** An inspector that is reached over HTTP. `url` ends with a slash. */
export function httpInspector({
  url,
  token,
}: {
  readonly url: string;
  readonly token: string | undefined;
}): InspectorClient {
  return { send: (request) => send(url, token, request), [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function send(url: string, token: string | undefined, { method, path, body }: ApiRequest): Promise<Answered> {
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'insidecar-inspector': '1' }),
  };
  const sent = { method, headers, redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS) } as const;
  let answered: Answered;
  try {
    const response = await fetch(url + path, body === undefined ? sent : { ...sent, body });
    answered = { status: response.status, text: await response.text() };
  } catch (error) {
    const cause = (error as { readonly cause?: unknown }).cause ?? error;
    throw new CommandFailure(`the inspector at ${url} cannot be reached: ${messageOf(cause)}`, undefined, error);
  }
  const why = token === undefined ? 'set INSIDECAR_INSPECT_TOKEN' : 'the token is not the right one';
  if (answered.status === 401) throw new CommandFailure(`the inspector at ${url} refuses the command: ${why}`);
  return answered;
}
