import type { Sidecar } from 'insidecar';
import { type Style, styled } from './terminal.ts';

/** What happened to messages, counted by what and topic, such as `delivered orders`. */
export type Happenings = ReadonlyMap<string, number>;

interface Line {
  readonly what: string;
  readonly style: Style;
  readonly topic: string;
  readonly messageId: string;
  readonly details?: string;
}

/** Prints what happens to messages, as it happens, and counts it. */
export function trace(sidecars: readonly Sidecar[]): Happenings {
  const startedAt = performance.now();
  const happenings = new Map<string, number>();
  const tell = ({ what, style, topic, messageId, details = '' }: Line): void => {
    const key = `${what} ${topic}`;
    happenings.set(key, (happenings.get(key) ?? 0) + 1);
    const at = `${Math.round(performance.now() - startedAt)} ms`.padStart(8);
    const columns = `${topic.padEnd(12)} ${messageId.slice(0, 8).padEnd(9)}`;
    console.log(
      `${styled('dim', at)}  ${styled(style, what.padEnd(14))} ${columns} ${styled('dim', details)}`.trimEnd(),
    );
  };
  for (const { events, appId } of sidecars) {
    events.on('messagePublished', ({ topic, messageId }) =>
      tell({ what: 'published', style: 'cyan', topic, messageId, details: `by ${appId}` }),
    );
    events.on('messageDelivered', ({ topic, messageId, route, attempt }) =>
      tell({ what: 'delivered', style: 'green', topic, messageId, details: `attempt ${attempt} to ${route}` }),
    );
    events.on('messageRetrying', ({ topic, messageId, attempt, delayMs, reason }) => {
      const details = `attempt ${attempt}: ${reason}; again in ${Math.round(delayMs)} ms`;
      tell({ what: 'retrying', style: 'yellow', topic, messageId, details });
    });
    events.on('messageDeadLettered', ({ topic, messageId, attempt, deadLetterTopic }) => {
      const details = `attempt ${attempt}: gave up, now on topic ${deadLetterTopic}`;
      tell({ what: 'dead-lettered', style: 'red', topic, messageId, details });
    });
    events.on('messageDropped', ({ topic, messageId, reason }) =>
      tell({ what: 'dropped', style: 'red', topic, messageId, details: reason }),
    );
  }
  return happenings;
}
