import type { AppCall, AppReply } from '../../../app/channel.ts';
import { asHeaderValue } from '../../../http/header-value.ts';
import { EMPTY_BODY } from '../../../http/message.ts';
import type { Wire } from '../../../wire.ts';

/** Time limit for the application's answer. */
const TIME_LIMIT_MS = 10_000;

/** Statuses of applications that have no such route, though they answer another one than 404. */
const NO_ROUTE: readonly number[] = [405, 501];

/**
 * Asks the application for its subscriptions; returns them unchecked. 404, 405, 501 and 204 mean that it has none.
 *
 * @param noRoute - called with a status that is not plainly an answer
 * @throws Error when the call fails or the answer cannot be read; try again later.
 */
export async function discoverSubscriptions(
  call: (call: AppCall) => Promise<AppReply>,
  wire: Wire,
  appId: string,
  noRoute: (status: number) => void,
): Promise<readonly unknown[]> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    [wire.headers.appId]: asHeaderValue(appId),
  };
  const reply = await call({
    method: 'GET',
    url: wire.subscribePath,
    headers,
    body: EMPTY_BODY,
    timeLimitMs: TIME_LIMIT_MS,
  });
  if (reply.status === 404 || reply.status === 204) return [];
  if (NO_ROUTE.includes(reply.status)) {
    noRoute(reply.status);
    return [];
  }
  if (reply.status !== 200)
    throw new Error(`GET ${wire.subscribePath} answered ${reply.status}: expected 200, 204 or 404`);
  if (reply.body.length === 0) return [];
  const list: unknown = JSON.parse(reply.body.toString());
  if (list === null) return [];
  if (!Array.isArray(list))
    throw new Error(`GET ${wire.subscribePath} answered ${typeof list}: expected an array of subscriptions`);
  return list as readonly unknown[];
}
