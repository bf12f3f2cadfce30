import type { Duration } from '../../../util/duration.ts';
import { NOT_NEGATIVE, type SchemasOf } from '../../../util/options-schema.ts';
import { validator } from '../../../util/schema.ts';
import { inSchemaCase, type OnOtherCase } from '../../../util/schema-case.ts';
import {
  type BulkSubscribeOptions,
  inList,
  NAME,
  nameOf,
  REQUIRED_OF_RULES,
  type RefusedSubscription,
  type RouteSubscription,
  SHARED,
  type SharedFields,
  type Subscriber,
  type SubscriptionSpec,
  specOf,
} from './subscription.ts';

/** A subscription in the list of an application, and in a resource file. `null` means absent. */
export interface AppSubscription extends SharedFields {
  readonly pubsubname: string;
  readonly bulkSubscribe?: {
    readonly enabled?: boolean | null;
    readonly maxMessagesCount?: number | null;
    readonly maxAwaitDurationMs?: number | null;
  } | null;
  readonly retry?: {
    readonly maxRetries?: number;
    readonly initialDelayMs?: number;
    readonly maxDelayMs?: number;
    readonly maxCrashes?: number;
  };
  readonly timeoutMs?: number | null;
}

const REQUIRED: readonly string[] = ['pubsubname', 'topic'];
const SCHEMA = {
  type: 'object',
  required: REQUIRED,
  properties: {
    pubsubname: NAME,
    ...SHARED,
    bulkSubscribe: {
      type: ['object', 'null'],
      properties: {
        enabled: { type: ['boolean', 'null'] },
        maxMessagesCount: { type: ['integer', 'null'] },
        maxAwaitDurationMs: { type: ['number', 'null'] },
      } satisfies SchemasOf<NonNullable<AppSubscription['bulkSubscribe']>>,
    },
    retry: {
      type: 'object',
      properties: {
        maxRetries: NOT_NEGATIVE,
        initialDelayMs: { type: 'number', minimum: 0 },
        maxDelayMs: { type: 'number', minimum: 0 },
        maxCrashes: NOT_NEGATIVE,
      } satisfies SchemasOf<NonNullable<AppSubscription['retry']>>,
    },
    timeoutMs: { type: ['integer', 'null'], minimum: 0 },
  } satisfies SchemasOf<AppSubscription>,
};

/** Names of fields without which a subscription or one of its rules is refused. */
export const REQUIRED_NAMES: ReadonlySet<string> = new Set([...REQUIRED, ...REQUIRED_OF_RULES]);

const problemOf = validator(SCHEMA, 'subscription');

/** The application's list of subscriptions with the names of our schema, whatever the case of its own. */
export function withKnownNames(list: readonly unknown[], onOtherCase: OnOtherCase): readonly unknown[] {
  // The cast is safe: an array stays one.
  return inSchemaCase(list, { items: SCHEMA }, onOtherCase) as readonly unknown[];
}

/** Checks the subscriptions that an application lists; unknown keys are ignored. */
export function parseAppSubscriptions(
  list: readonly unknown[],
  subscriber: Subscriber,
): (SubscriptionSpec | RefusedSubscription)[] {
  const type = 'PROGRAMMATIC';
  return list.map((value, index) => {
    const problem = problemOf(value);
    if (problem !== undefined) return inList({ ...nameOf(value, 'pubsubname'), type, problem }, index);
    // The schema has checked it.
    return inList(specOf(inCodeForm(value as AppSubscription), type, subscriber), index);
  });
}

/** The same subscription as options in code. */
export function inCodeForm({
  pubsubname,
  bulkSubscribe,
  retry,
  timeoutMs,
  ...shared
}: AppSubscription): RouteSubscription {
  const { maxRetries, initialDelayMs: delay, maxDelayMs: maxDelay, maxCrashes } = retry ?? {};
  return {
    pubsubName: pubsubname,
    ...shared,
    ...(retry === undefined ? undefined : { retry: { maxRetries, delay, maxDelay }, maxCrashes }),
    ...(bulkSubscribe ? { bulkSubscribe: bulkInCode(bulkSubscribe) } : undefined),
    ...(typeof timeoutMs === 'number' ? { timeout: timeoutMs } : undefined),
  };
}

/** Dapr takes a time of zero or less for the default. */
function bulkInCode({
  enabled,
  maxMessagesCount,
  maxAwaitDurationMs,
}: NonNullable<AppSubscription['bulkSubscribe']>): BulkSubscribeOptions {
  const maxAwaitDuration: Duration = Math.ceil(maxAwaitDurationMs ?? 0);
  return {
    ...(typeof enabled === 'boolean' ? { enabled } : undefined),
    ...(typeof maxMessagesCount === 'number' ? { maxMessagesCount } : undefined),
    ...(maxAwaitDuration > 0 ? { maxAwaitDuration } : undefined),
  };
}
