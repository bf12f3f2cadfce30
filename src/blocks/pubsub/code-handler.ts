import { CloudEvent } from 'cloudevents';
import type { Delivery } from '../../components/pubsub.ts';
import type { Clock } from '../../util/clock.ts';
import type { DeliverToCode } from './consumer.ts';
import { type Outcome, retry, returnedOutcome } from './outcome.ts';
import type { MessageHandler } from './subscription.ts';

/** Turns a user's function into what a consumer calls: events as `CloudEvent`s, within the time limit. */
export function deliverToCode<T>(handler: MessageHandler<T>, clock: Clock, timeLimitMs: number): DeliverToCode {
  return async (event, delivery) => {
    const limit = new AbortController();
    const late = new Promise<Outcome>((resolve) => {
      limit.signal.addEventListener('abort', () => resolve(retry(`no result within ${timeLimitMs} ms`)), {
        once: true,
      });
    });
    const timer = clock.setTimeout(() => limit.abort(new Error(`no result within ${timeLimitMs} ms`)), timeLimitMs);
    try {
      return await Promise.race([callHandler(handler, event, delivery, limit.signal), late]);
    } finally {
      timer.cancel();
    }
  };
}

async function callHandler<T>(
  handler: MessageHandler<T>,
  event: unknown,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const { message, attempt } = delivery;
  return returnedOutcome(await handler(toCloudEvent<T>(event), { message, attempt, signal }));
}

/** Not strict: an extension may have any name and type on its way through. */
function toCloudEvent<T>(event: unknown): CloudEvent<T> {
  const { data_base64, ...attributes } = event as { readonly data_base64?: string };
  const data = data_base64 === undefined ? {} : { data: Buffer.from(data_base64, 'base64') };
  return new CloudEvent({ ...attributes, ...data } as ConstructorParameters<typeof CloudEvent<T>>[0], false);
}
