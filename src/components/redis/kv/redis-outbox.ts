import type { KeyValueOutbox, OutboxEvent, OutboxPage } from '../../key-value.ts';
import type { RedisArgument } from '../driver.ts';
import type { Script } from '../scripts.ts';
import { READ_EVENTS, REMOVE_EVENTS } from './scripts.ts';

/** The events of a page: the server sends them in one answer. */
const PAGE = 100;

/** Runs a script. */
type Run = (script: Script, keys: readonly string[], args: readonly RedisArgument[]) => Promise<unknown>;

/**
 * The events of an application's store, in two keys: a sorted set of IDs, by the order of their commits, and a hash of
 * bytes. Not a stream: events are removed by their IDs, and no consumer group is left behind.
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

  async read(cursor?: string): Promise<OutboxPage> {
    const after = cursor === undefined ? '-inf' : `(${cursor}`;
    const found = (await this.#run(READ_EVENTS, this.keys, [after, String(PAGE)])) as readonly Buffer[];
    const events: OutboxEvent[] = [];
    for (let at = 0; at + 2 < found.length; at += 2)
      events.push({ id: String(found[at]), bytes: new Uint8Array(found[at + 1] ?? []) });
    return events.length === 0 ? { events } : { events, cursor: String(found.at(-1)) };
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#run(REMOVE_EVENTS, this.keys, ids);
  }
}
