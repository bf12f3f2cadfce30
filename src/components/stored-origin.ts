import { formatInstant, parseInstant } from '../util/duration.ts';
import type { DeadLetterOrigin } from './pubsub.ts';

/** The origin of a dead letter as it is stored beside the message: `at` is an RFC 3339 instant. It never changes. */
export interface StoredOrigin extends Omit<DeadLetterOrigin, 'deadAt'> {
  readonly at: string;
}

export function storedOrigin({ deadAt, ...origin }: DeadLetterOrigin): StoredOrigin {
  return { ...origin, at: formatInstant(deadAt) };
}

/** The origin that was stored; `undefined` for anything else: anybody may have written the header of a broker. */
export function readOrigin(stored: unknown): DeadLetterOrigin | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined;
  const { topic, group, reason, attempts, at } = stored as Partial<StoredOrigin>;
  if (typeof topic !== 'string' || typeof group !== 'string' || typeof reason !== 'string') return undefined;
  if (typeof attempts !== 'number' || typeof at !== 'string') return undefined;
  const deadAt = parseInstant(at);
  return deadAt === undefined ? undefined : { topic, group, reason, attempts, deadAt };
}
