import { effect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, messageOf, urlOf } from './client.ts';
import type { Reads } from './endpoints.ts';
import type { HashQuery } from './hash.ts';
import { isWatching } from './visibility.ts';

/** Data of the server, and how far it is loaded. */
export interface Loadable<T> {
  /** The last that came; of an earlier query while `isStale`. */
  readonly data: T | undefined;
  /** Why the last request failed. */
  readonly error: string | undefined;
  /** Whether the query has changed since. */
  readonly isStale: boolean;
  /** Asks again, now. */
  readonly refresh: () => void;
}

interface Answer<T> {
  readonly url: string;
  readonly data: T | undefined;
  readonly error: string | undefined;
}

/**
 * Asks for `path` at once, when the query changes, and each `everyMs` milliseconds while the tab is seen and not paused.
 * Without a path it asks for nothing.
 */
export function usePoll<P extends keyof Reads>(
  path: P | undefined,
  query: HashQuery = {},
  everyMs = 5000,
): Loadable<Reads[P]> {
  const url = path === undefined ? '' : urlOf(path, query);
  const [answer, setAnswer] = useState<Answer<Reads[P]>>({ url, data: undefined, error: undefined });
  const poller = useRef<Poller>(undefined);
  useEffect(() => {
    if (path === undefined) return;
    const started = startPolling(async (signal) => {
      try {
        const data = await get(path, query, signal);
        if (!signal.aborted) setAnswer({ url, data, error: undefined });
      } catch (error) {
        if (signal.aborted) return;
        // An answer to another query is no answer to this one.
        setAnswer((last) => ({ url, data: last.url === url ? last.data : undefined, error: messageOf(error) }));
      }
    }, everyMs);
    poller.current = started;
    return () => started.stop();
  }, [url, everyMs]);
  return {
    data: path === undefined ? undefined : answer.data,
    error: answer.error,
    isStale: answer.url !== url,
    refresh: () => poller.current?.refresh(),
  };
}

interface Poller {
  readonly refresh: () => void;
  readonly stop: () => void;
}

function startPolling(ask: (signal: AbortSignal) => Promise<void>, everyMs: number): Poller {
  let running = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = false;
  const run = async () => {
    running.abort();
    clearTimeout(timer);
    const current = new AbortController();
    running = current;
    await ask(current.signal);
    if (!current.signal.aborted) timer = setTimeout(tick, everyMs);
  };
  const tick = () => {
    isDue = !isWatching.value;
    if (!isDue) void run();
  };
  const dispose = effect(() => {
    if (isWatching.value && isDue) tick();
  });
  void run();
  return {
    refresh: () => void run(),
    stop: () => {
      dispose();
      clearTimeout(timer);
      running.abort();
    },
  };
}
