import { isStateError } from '../../../state/errors.ts';
import type { Logger } from '../../../util/logger.ts';
import type { KeyRouter } from '../pubsub/key-router.ts';

/** How long a write waits for replicas, as in Dapr. */
const LIMIT_MS = 1_000;

/**
 * Waits until the replicas of a server have what was written over a connection. It is a hint: a write is done also when
 * they do not answer in time, which the log says once.
 */
export class ReplicaWait {
  readonly #logger: Logger;
  #isLagging = false;
  #mayCount = true;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @throws ConnectionLostError */
  async wait(router: KeyRouter, slot: number): Promise<void> {
    const replicas = await this.#count(router, slot);
    if (replicas === 0) return;
    const reached = Number(await router.send(slot, ['WAIT', String(replicas), String(LIMIT_MS)]));
    const isLagging = reached < replicas;
    if (isLagging === this.#isLagging) return;
    this.#isLagging = isLagging;
    const fields = { server: router.name, replicas, reached };
    if (isLagging) this.#logger.warn(fields, 'writes are not on all replicas within a second');
    else this.#logger.info(fields, 'writes are on all replicas again');
  }

  async #count(router: KeyRouter, slot: number): Promise<number> {
    if (!this.#mayCount) return 0;
    try {
      const [, , replicas] = (await router.send(slot, ['ROLE'])) as readonly unknown[];
      return Array.isArray(replicas) ? replicas.length : 0;
    } catch (error) {
      // The write is done; the server has refused a question only, as to a user who may not ask it.
      if (!isStateError(error)) throw error;
      this.#mayCount = false;
      const fields = { server: router.name, reason: error.message };
      this.#logger.warn(fields, 'strong writes do not wait for replicas: the server does not let them be counted');
      return 0;
    }
  }
}
