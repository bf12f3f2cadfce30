import { isStateError } from '../../../state/errors.ts';
import { setImmediate } from '../../../util/timers.ts';
import { ConnectionLostError } from '../../remote/connection.ts';
import type { StreamGroup } from './stream-group.ts';

interface AcknowledgementBatch {
  readonly ids: string[];
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Acknowledges entries, those of one turn together; over reconnections, and while the server can write nothing, until it
 * has confirmed them.
 */
export class Acknowledgements {
  readonly #group: StreamGroup;
  readonly #onEnd: (ids: readonly string[]) => void;
  /** Not sent yet. */
  #next: AcknowledgementBatch | undefined;
  /** To be sent again. */
  #failed: AcknowledgementBatch[] = [];
  #underWay: Promise<void> = Promise.resolve();

  /** @param onEnd - called with entries that are acknowledged, or can never be */
  constructor(group: StreamGroup, onEnd: (ids: readonly string[]) => void) {
    this.#group = group;
    this.#onEnd = onEnd;
  }

  add(id: string): Promise<void> {
    if (this.#next === undefined) {
      this.#next = newBatch();
      setImmediate(() => this.#flush());
    }
    this.#next.ids.push(id);
    return this.#next.done;
  }

  #flush(): void {
    const batch = this.#next;
    if (batch === undefined) return;
    this.#next = undefined;
    this.#underWay = this.#send(batch);
  }

  async #send(batch: AcknowledgementBatch): Promise<void> {
    try {
      await this.#group.acknowledge(batch.ids);
      this.#onEnd(batch.ids);
      batch.resolve();
    } catch (error) {
      if (error instanceof ConnectionLostError || (isStateError(error) && error.kind === 'full')) {
        this.#failed.push(batch);
        return;
      }
      this.#onEnd(batch.ids);
      batch.reject(error);
    }
  }

  /** Sends again what was lost with a connection, or refused for the time being. */
  sendAgain(): void {
    if (this.#failed.length > 0)
      this.#underWay = Promise.all(this.#failed.splice(0).map((batch) => this.#send(batch))).then();
  }

  /** Makes the last attempt. Entries that the server does not confirm now are delivered again. */
  async close(): Promise<void> {
    await this.#underWay;
    this.#flush();
    this.sendAgain();
    await this.#underWay;
    for (const { reject } of this.#failed.splice(0))
      reject(new Error('the server has not confirmed the acknowledgement'));
  }
}

function newBatch(): AcknowledgementBatch {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => {}, () => {}];
  const done = new Promise<void>((onDone, onError) => {
    [resolve, reject] = [onDone, onError];
  });
  // Callers see the rejection, too.
  done.catch(() => undefined);
  return { ids: [], done, resolve, reject };
}
