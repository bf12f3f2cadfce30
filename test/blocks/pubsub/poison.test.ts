import { expect, test } from 'vitest';
import { refusalOf } from '../../../src/blocks/pubsub/delivery/refusal.ts';
import type { SubscriptionSpec } from '../../../src/blocks/pubsub/delivery/subscription.ts';
import type { Delivery } from '../../../src/components/pubsub.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { RecordingLogger } from '../../support/logger.ts';

const settled = async (): Promise<void> => undefined;
const message = {
  id: 'one',
  topic: 't',
  data: new Uint8Array(),
  contentType: 'text/plain',
  raw: false,
  metadata: {},
};
const delivery = (interruptions?: number): Delivery => ({
  message,
  attempt: 5,
  ack: settled,
  retry: settled,
  ...(interruptions === undefined ? {} : { interruptions }),
});
const spec = (deadLetterTopic: string, maxCrashes = 3): SubscriptionSpec => ({
  type: 'STREAMING',
  pubsubName: 'pubsub',
  topic: 't',
  rules: [],
  deadLetterTopic,
  metadata: {},
  rawPayload: false,
  bulk: undefined,
  concurrency: 1,
  retry: {},
  maxCrashes,
  timeoutMs: undefined,
  group: '',
  competing: false,
  order: undefined,
  perKey: undefined,
  rate: undefined,
});

test.each([
  ['no interruption', delivery(0), spec('dead'), undefined],
  ['a component that does not know', delivery(), spec('dead'), undefined],
  ['two interruptions', delivery(2), spec('dead'), undefined],
  ['three interruptions', delivery(3), spec('dead'), 'the process ended during 3 deliveries in a row'],
  ['no dead-letter topic: it would be lost', delivery(9), spec(''), undefined],
  ['no limit', delivery(9), spec('dead', 0), undefined],
  ['a limit of one', delivery(1), spec('dead', 1), 'the process ended during the last delivery'],
])('a message is taken for poison by its interruptions: %s', (_, one, subscription, reason) => {
  const logger = new RecordingLogger();
  expect(refusalOf(one, { spec: subscription, clock: systemClock, logger })).toEqual(
    reason === undefined ? undefined : { kind: 'drop', level: 'error', reason },
  );
  const isWarned = (one.interruptions ?? 0) > 0 && reason === undefined;
  expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(isWarned ? 1 : 0);
});
