import { isStateError, StateError } from '../../state/errors.ts';
import { ConnectionLostError } from './connection.ts';

/** After this time without an answer at most, the next place is tried beside the one before. */
const PATIENCE_MS = 500;

/** A place at which a server may be. */
export interface ServerPlace {
  /** For messages: `host:port`. */
  readonly name: string;
}

/** A place that answers does not know what is sought: another one may. */
export class UnknownThereError extends ConnectionLostError {}

/** Opens something at a place. When the signal fires, it must be given up, even if it is open. */
export type OpenAt<P extends ServerPlace, T> = (place: P, signal: AbortSignal) => Promise<T>;

/**
 * Opens the first of several places that works, in their order; gives up all others.
 *
 * @param signal - gives up all
 * @param limitMs - how long the caller waits: all places are tried in this time. Default: any time.
 * @throws StateError of a place where retries are useless, or when no place knows what is sought; else
 * ConnectionLostError, which says what is wrong with each.
 */
export function firstOf<P extends ServerPlace, T>(
  places: readonly P[],
  open: OpenAt<P, T>,
  signal: AbortSignal,
  limitMs: number = Number.POSITIVE_INFINITY,
): Promise<T> {
  // The last place, too, has time to answer.
  const patienceMs = Math.min(PATIENCE_MS, limitMs / (places.length + 1));
  return new Promise<T>((resolve, reject) => {
    const problems: string[] = [];
    /** How many places do not know what is sought. */
    let unknown = 0;
    const attempts = new Set<AbortController>();
    const waiting = [...places];
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      waiting.length = 0;
      for (const attempt of attempts) attempt.abort();
    };
    const tryNext = (): void => {
      clearTimeout(timer);
      // After the signal, no caller would take a connection.
      const place = signal.aborted ? undefined : waiting.shift();
      if (place === undefined) {
        if (attempts.size > 0) return;
        const problem = problems.join('; ');
        reject(unknown === places.length ? new StateError('failed', problem) : new ConnectionLostError(problem));
        return;
      }
      const attempt = new AbortController();
      attempts.add(attempt);
      timer = setTimeout(tryNext, patienceMs);
      open(place, AbortSignal.any([signal, attempt.signal])).then(
        (opened) => {
          attempts.delete(attempt);
          end();
          resolve(opened);
        },
        (error: Error) => {
          attempts.delete(attempt);
          problems.push(places.length === 1 ? error.message : `${place.name}: ${error.message}`);
          if (error instanceof UnknownThereError) unknown++;
          if (!isStateError(error)) return tryNext();
          end();
          reject(error);
        },
      );
    };
    tryNext();
  });
}
