import type { Clock } from '../util/clock.ts';
import { setGracePeriod } from '../util/grace-period.ts';
import { afterBody } from './body.ts';
import type { SidecarRequest, SidecarResponse } from './message.ts';

/**
 * Counts the requests that are being answered, streamed answers until their end, so that a stop can wait for them. It
 * is on the path of every request: an answer that is at hand costs two additions.
 */
export class Answers {
  /** How many are under way, by generation: who begins to wait begins a new one. */
  readonly #underWay: number[] = [0];
  /** By what ends them: what they answer. */
  readonly #streams = new Map<AbortController, string>();
  readonly #waiting = new Set<() => void>();

  /** How many requests are being answered now. */
  get underWay(): number {
    return this.#underWay.reduce((sum, count) => sum + count, 0);
  }

  /** What is being streamed, in words. */
  get streamed(): readonly string[] {
    return [...this.#streams.values()];
  }

  /** Notes a request; what is returned goes to {@link Answers.end}. */
  begin(): number {
    const generation = this.#underWay.length - 1;
    this.#add(generation, 1);
    return generation;
  }

  /** It has been answered. */
  end(generation: number): void {
    this.#add(generation, -1);
    for (const look of this.#waiting) look();
  }

  /** Notes the end of an answer: now for one that is at hand, else when its body has been read or left. */
  endWith(
    response: SidecarResponse,
    generation: number,
    { method, path }: Pick<SidecarRequest, 'method' | 'path'>,
  ): SidecarResponse {
    if (response.body instanceof Uint8Array) {
      this.end(generation);
      return response;
    }
    const stream = new AbortController();
    this.#streams.set(stream, `answer to ${method} ${path}`);
    const body = afterBody(response.body, () => {
      this.#streams.delete(stream);
      this.end(generation);
    });
    return { ...response, body, signal: stream.signal };
  }

  /** Breaks off the answers that are still being streamed. */
  breakOff(reason: Error): void {
    for (const stream of this.#streams.keys()) stream.abort(reason);
  }

  /** Resolves when all that are under way now have ended, or when that has taken `gracePeriodMs`. */
  ended(clock: Clock, gracePeriodMs: number): Promise<void> {
    const generations = this.#underWay.length;
    if (this.underWay === 0) return Promise.resolve();
    this.#underWay.push(0);
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#waiting.delete(look);
        resolve();
      };
      const look = (): void => {
        if (this.#underWay.slice(0, generations).every((count) => count === 0)) done();
      };
      const timer = setGracePeriod(clock, gracePeriodMs, done);
      this.#waiting.add(look);
    });
  }

  #add(generation: number, change: number): void {
    this.#underWay[generation] = (this.#underWay[generation] ?? 0) + change;
  }
}
