import type { Delivery, Message } from '../../../components/pubsub.ts';
import { asBuffer } from '../../../http/body.ts';
import { CLOUD_EVENT_TYPE } from '../publishing/content-type.ts';

/** A delivery whose raw payload is a JSON object: it is delivered as an event, unchanged. Others stay as they are. */
export function rawObjectAsEvent(delivery: Delivery): Delivery {
  const { message, attempt, interruptions } = delivery;
  if (!message.raw || !isJsonObject(message.data)) return delivery;
  return {
    message: { ...message, raw: false, contentType: CLOUD_EVENT_TYPE } satisfies Message,
    attempt,
    ...(interruptions === undefined ? undefined : { interruptions }),
    ack: () => delivery.ack(),
    retry: (delayMs) => delivery.retry(delayMs),
    takeBack: () => delivery.takeBack?.(),
  };
}

function isJsonObject(data: Uint8Array): boolean {
  const text = asBuffer(data).toString();
  if (!text.trimStart().startsWith('{')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
