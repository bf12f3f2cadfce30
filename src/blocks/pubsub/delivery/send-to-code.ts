import type { Delivery, Message } from '../../../components/pubsub.ts';
import type { CodeCall, CodeCalls } from '../../../util/code-calls.ts';
import type { Apart } from '../../../util/outside.ts';
import { BROKEN_OFF, type DeliveryOutcome } from './outcome.ts';
import type { ReturnHint } from './return-hint.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** Delivers one message to a function in code. `read` makes its event; it throws when the message has none. */
export type DeliverToCode = (read: () => unknown, delivery: Delivery, call: CodeCall) => Promise<DeliveryOutcome>;

/** The function of a streaming subscription. */
export interface CodeTarget {
  readonly deliver: DeliverToCode;
  readonly eventOf: (message: Message) => unknown;
  readonly calls: CodeCalls;
  readonly apart: Apart;
  readonly hint: ReturnHint;
  /** 0 for no limit. */
  readonly timeLimitMs: number;
  readonly spec: SubscriptionSpec;
}

/** Waits however long the function takes: until it returns, its message must not be delivered again. */
export async function sendToCode(target: CodeTarget, delivery: Delivery): Promise<DeliveryOutcome> {
  const { deliver, eventOf, calls, apart, hint, timeLimitMs, spec } = target;
  const { pubsubName, topic } = spec;
  const { message, attempt } = delivery;
  for (let call = calls.elsewhere(message.id); call !== undefined; call = calls.elsewhere(message.id))
    if (!(await calls.untilEnded(call))) {
      delivery.takeBack?.();
      return BROKEN_OFF;
    }
  const call = calls.begin(message.id, timeLimitMs, () => ({ pubsubName, topic, messageId: message.id, attempt }));
  try {
    const outcome = await apart()(() => deliver(() => eventOf(message), delivery, call));
    hint.observe(outcome);
    return outcome;
  } finally {
    calls.end(call);
  }
}
