import { batch, computed, effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveFrame, LiveRecord, Overview, RecordQuery } from '../../api/live.ts';
import { urlOf } from './client.ts';
import { mergeRecords } from './merge.ts';
import { isPaused, isWatching } from './visibility.ts';

/** The numbers of the last two minutes. */
export type Rates = Omit<Overview, 'attention' | 'recent'>;

/** Records that came over the stream since the page asked for them; the newest first. */
export const records = signal<readonly LiveRecord[]>([]);
export const rates = signal<Rates | undefined>(undefined);
/** How many changes the stream left out because there were too many. */
export const skipped = signal(0);

const connection = signal<'connecting' | 'open' | 'lost' | 'ended'>('connecting');
const wanted = signal<string | undefined>(undefined);
/** Which records are shown. The stream reports the others, too: one that is shown may have become one of them. */
let isMeant: (record: LiveRecord) => boolean = () => true;
/** The last change that came: what came after it is asked for when the tab is seen again. */
let lastSeq = '';

export type LiveStatus = 'off' | 'paused' | 'connecting' | 'open' | 'lost' | 'ended';

/** `off`: this page does not need the stream. */
export const liveStatus = computed<LiveStatus>(() => {
  if (isPaused.value) return 'paused';
  return wanted.value === undefined ? 'off' : connection.value;
});

/**
 * Streams what happens, as far as the query lets it through, into {@link records} while the calling page is open. There
 * is one stream in a tab.
 */
export function useLive({ outcome, ...query }: RecordQuery): void {
  const url = urlOf('live', { ...query });
  useEffect(() => {
    batch(() => {
      records.value = [];
      skipped.value = 0;
      rates.value = undefined;
      lastSeq = '';
      isMeant = (record) => outcome === undefined || (record.kind === 'message' && record.outcome === outcome);
      wanted.value = url;
    });
    return () => {
      if (wanted.peek() === url) wanted.value = undefined;
    };
  }, [url, outcome]);
}

/** Adds records: those of the stream, and older ones that were asked for. */
export function addRecords(more: readonly LiveRecord[]): void {
  records.value = mergeRecords(records.peek(), more, { isMeant });
}

const RETRY_MS = 5000;

effect(() => {
  const url = wanted.value;
  if (url === undefined || !isWatching.value) return;
  return listen(url);
});

/** Answers how to close it. The browser connects again by itself after a loss, but not after an answer like 503. */
function listen(url: string): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource;
  const open = (status: 'connecting' | 'lost') => {
    connection.value = status;
    source = new EventSource(url + (lastSeq === '' ? '' : `&after=${lastSeq}`));
    source.onopen = () => {
      connection.value = 'open';
    };
    source.onerror = () => {
      connection.value = 'lost';
      if (source.readyState === EventSource.CLOSED) retry();
    };
    source.addEventListener('records', ({ data, lastEventId }) => {
      lastSeq = lastEventId;
      takeFrame(JSON.parse(data) as LiveFrame);
    });
    source.addEventListener('rates', ({ data, lastEventId }) => {
      lastSeq = lastEventId;
      rates.value = JSON.parse(data) as Rates;
    });
    source.addEventListener('ended', () => {
      source.close();
      connection.value = 'ended';
      retry();
    });
  };
  const retry = () => {
    clearTimeout(timer);
    timer = setTimeout(() => open('lost'), RETRY_MS);
  };
  open('connecting');
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

function takeFrame(frame: LiveFrame): void {
  batch(() => {
    if (frame.records.length > 0) addRecords(frame.records);
    if (frame.skipped > 0) skipped.value += frame.skipped;
  });
}
