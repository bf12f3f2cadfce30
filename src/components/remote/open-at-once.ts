import { isStateError } from '../../state/errors.ts';
import { withTimeLimit } from '../../util/time-limit.ts';
import { ConnectionLostError } from './connection.ts';

/** How long a start waits for a server that does not answer. */
const WAIT_MS = 3_000;

/** A store on a server. */
interface Beginning {
  /** Resolves once it is connected; rejects when the first attempt has failed. It connects on by itself. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a store after the first attempt to connect, even if that has failed.
 *
 * @throws StateError of an attempt that shows that retries are useless, such as one with wrong credentials.
 */
export async function openAtOnce<Store extends Beginning>(store: Store): Promise<Store> {
  try {
    await withTimeLimit(store.begin(), WAIT_MS, () => new ConnectionLostError('it has not answered yet'));
  } catch (error) {
    if (!isStateError(error)) return store;
    await store.close();
    throw error;
  }
  return store;
}
