import type { Delivery, Message } from '../../../components/pubsub.ts';
import type { CodeCall, CodeCalls } from '../../../util/code-calls.ts';
import type { Apart } from '../../../util/outside.ts';
import { BROKEN_OFF, type DeliveryOutcome } from './outcome.ts';
import type { ReturnHint } from './return-hint.ts';
import type { SubscriptionSpec } from './subscription.ts';

/** Delivers one message to a function in code. `read` makes its event; it throws when the message has none. */
export type DeliverToCode = (read: () => unknown, delivery: Delivery, call: CodeCall) => Promise<DeliveryOutcome>;

/** A message and what makes its event. */
export interface CodeDelivery {
  readonly delivery: Delivery;
  readonly read: () => unknown;
}

/** Delivers a batch to a function in code; the outcomes are in the order of the messages. */
export type DeliverBatchToCode = (
  batch: readonly CodeDelivery[],
  call: CodeCall,
) => Promise<readonly DeliveryOutcome[]>;

/** What a consumer calls of a user's function: for each message, or for each batch. */
export type CodeFunction = { readonly deliver: DeliverToCode } | { readonly deliverBatch: DeliverBatchToCode };

/** The function of a streaming subscription. */
export interface CodeTarget {
  readonly code: CodeFunction;
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
  const { code, eventOf, calls, apart, hint, timeLimitMs } = target;
  const { message } = delivery;
  if ('deliverBatch' in code) return (await sendBatchToCode(target, [delivery]))[0] ?? BROKEN_OFF;
  const { deliver } = code;
  if (calls.elsewhere(message.id) !== undefined && !(await isFree(calls, message.id))) {
    delivery.takeBack?.();
    return BROKEN_OFF;
  }
  const call = calls.begin(message.id, timeLimitMs, () => aboutCall(target, delivery));
  try {
    const outcome = await apart()(() => deliver(() => eventOf(message), delivery, call));
    hint.observe(outcome);
    return outcome;
  } finally {
    calls.end(call);
  }
}

/** Waits while a function of another sidecar processes a message; returns whether it may be delivered then. */
async function isFree(calls: CodeCalls, messageId: string): Promise<boolean> {
  for (let call = calls.elsewhere(messageId); call !== undefined; call = calls.elsewhere(messageId))
    if (!(await calls.untilEnded(call))) return false;
  return true;
}

function aboutCall({ spec: { pubsubName, topic } }: CodeTarget, { message, attempt }: Delivery): object {
  return { pubsubName, topic, messageId: message.id, attempt };
}

/** Delivers a batch. Each message counts as processed by the function until that returns. */
export async function sendBatchToCode(
  target: CodeTarget,
  deliveries: readonly Delivery[],
): Promise<readonly DeliveryOutcome[]> {
  const { code, eventOf, calls, apart, hint, timeLimitMs } = target;
  if (!('deliverBatch' in code)) return Promise.all(deliveries.map((delivery) => sendToCode(target, delivery)));
  for (const { message } of deliveries)
    if (!(await isFree(calls, message.id))) {
      for (const delivery of deliveries) delivery.takeBack?.();
      return deliveries.map(() => BROKEN_OFF);
    }
  const [first, ...others] = deliveries;
  if (first === undefined) return [];
  // The first call stands for the batch in the log, and has its signal.
  const call = calls.begin(first.message.id, timeLimitMs, () => ({
    ...aboutCall(target, first),
    messages: deliveries.length,
  }));
  const begun = others.map((delivery) => {
    const other = calls.begin(delivery.message.id, 0, () => aboutCall(target, delivery));
    other.isKnownAsLong = true;
    return other;
  });
  try {
    const batch = deliveries.map((delivery) => ({ delivery, read: () => eventOf(delivery.message) }));
    const outcomes = await apart()(() => code.deliverBatch(batch, call));
    for (const outcome of outcomes) hint.observe(outcome);
    return outcomes;
  } finally {
    for (const one of [call, ...begun]) calls.end(one);
  }
}
