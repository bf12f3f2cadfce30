import { randomUUID } from 'node:crypto';
import type { PubSubComponent } from '../components/pubsub.ts';

/** What a case needs of a component beyond the contract's core. @public */
export type PubSubNeed =
  /** A group keeps its messages while it has no consumer, and over a new `open()`. */
  | 'retention'
  /** `attempt` counts over a new `open()` too. */
  | 'attempts'
  /** The `deadLetter` of a message is kept beside its bytes and given back. */
  | 'deadLetter';

/** One case of {@link pubSubConformance}. @public */
export interface PubSubCase {
  /** What it proves. */
  readonly name: string;
  /** What it needs; leave out cases whose needs the component does not meet. */
  readonly needs: readonly PubSubNeed[];
  /**
   * Runs it; rejects with an AssertionError when the component fails.
   *
   * @param open - opens the component on the same messages each time, as restarts and further processes do. Every case
   * uses topics of its own.
   */
  run(open: () => Promise<PubSubComponent>): Promise<void>;
}

/** How a case runs. */
export type Run = PubSubCase['run'];

/** A topic that no other case uses. */
export function newTopic(): string {
  return `conformance-${randomUUID()}`;
}

/** `0`, `1`, … as texts. */
export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}
