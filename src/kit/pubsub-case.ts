import { randomUUID } from 'node:crypto';
import type { PubSubComponent } from '../components/pubsub.ts';

/** Optional capabilities of components. @public */
export type PubSubNeed =
  /** Groups keep their messages without consumers and across `open()`. */
  | 'retention'
  /** `attempt` keeps counting across `open()`. */
  | 'attempts'
  /** Consumers of several `open()` share the messages of a group. */
  | 'sharing'
  /** Messages of 1 MiB. */
  | 'large'
  /** Topics and groups with any name. */
  | 'anyName'
  /** The ID, content type, metadata and trace of a raw payload are stored beside its bytes and returned. */
  | 'metadata'
  /** The `deadLetter` of a message is stored beside its bytes and returned. */
  | 'deadLetter';

/** One case of {@link pubSubConformance}. @public */
export interface PubSubCase {
  /** The behaviour that it tests. */
  readonly name: string;
  /** Its needs; skip cases with needs that the component does not meet. */
  readonly needs: readonly PubSubNeed[];
  /**
   * Runs the case; rejects with an AssertionError if the component fails.
   *
   * @param open - opens the component on the same messages each time, as restarts and further processes do. Every case
   * uses its own topics.
   */
  run(open: () => Promise<PubSubComponent>): Promise<void>;
}

/** The function that runs a case. */
export type Run = PubSubCase['run'];

/** A unique topic. */
export function newTopic(): string {
  return `conformance-${randomUUID()}`;
}

/** The texts `0`, `1`, … */
export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}
