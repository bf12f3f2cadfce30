import { isUint8Array } from 'node:util/types';
import type { Clock } from '../util/clock.ts';
import { setGracePeriod } from '../util/grace-period.ts';
import { afterBody } from './body.ts';
import type { SidecarRequest, SidecarResponse } from './message.ts';

/**
 * Counts the requests in progress, streamed responses until their end, so that a stop can wait for them. Every request
 * passes here: a response whose body is bytes costs two additions.
 */
export class Answers {
  /** Requests in progress by generation: each wait starts a new generation. */
  readonly #underWay: number[] = [0];
  /** Descriptions of streamed responses by the controller that aborts them. */
  readonly #streams = new Map<AbortController, string>();
  readonly #waiting = new Set<() => void>();

  get underWay(): number {
    return this.#underWay.reduce((sum, count) => sum + count, 0);
  }

  /** Descriptions of the responses being streamed. */
  get streamed(): readonly string[] {
    return [...this.#streams.values()];
  }

  /** Counts a request; pass the returned generation to {@link Answers.end}. */
  begin(): number {
    const generation = this.#underWay.length - 1;
    this.#add(generation, 1);
    return generation;
  }

  end(generation: number): void {
    this.#add(generation, -1);
    for (const look of this.#waiting) look();
  }

  /** Ends a request with its response: at once if the body is bytes, else when the stream has been read or left. */
  endWith(
    response: SidecarResponse,
    generation: number,
    { method, path }: Pick<SidecarRequest, 'method' | 'path'>,
  ): SidecarResponse {
    if (isUint8Array(response.body)) {
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

  /** Aborts the responses that are still being streamed. */
  breakOff(reason: Error): void {
    for (const stream of this.#streams.keys()) stream.abort(reason);
  }

  /** Resolves when all requests now in progress have ended, or after `gracePeriodMs`. */
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
