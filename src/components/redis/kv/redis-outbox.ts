import type { KeyValueOutbox, OutboxEvent } from '../../key-value.ts';
import type { RedisArgument } from '../driver.ts';
import type { Script } from '../scripts.ts';
import { CLAIM, REMOVE } from './scripts.ts';

/** Runs a script. */
type Run = (script: Script, keys: readonly string[], args: readonly RedisArgument[]) => Promise<unknown>;

/**
 * The events of an application's store, in two keys: a sorted set of IDs and a hash of bytes. Not a stream: events are
 * claimed in the order of their IDs, and removed by them, and no consumer group is left behind.
 */
export class RedisOutbox implements KeyValueOutbox {
  /** No key of an application's values has `||` twice. */
  readonly keys: readonly string[];
  readonly #run: Run;

  constructor(appId: string, store: string, run: Run) {
    const place = `insidecar||outbox||${appId}||${store}`;
    this.keys = [`${place}||ids`, `${place}||events`];
    this.#run = run;
  }

  async claim(limit: number, leaseMs: number): Promise<readonly OutboxEvent[]> {
    const args = [String(limit), String(Math.ceil(leaseMs))];
    const found = (await this.#run(CLAIM, this.keys, args)) as readonly Buffer[];
    const events: OutboxEvent[] = [];
    for (let at = 0; at < found.length; at += 2)
      events.push({ id: String(found[at]), bytes: new Uint8Array(found[at + 1] ?? []) });
    return events;
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#run(REMOVE, this.keys, ids);
  }
}
