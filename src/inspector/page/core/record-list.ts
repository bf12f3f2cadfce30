import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { CallRecord, MessageRecord, RecordQuery, RecordsReply } from '../../api/live.ts';
import { get, messageOf, urlOf } from './client.ts';
import { addRecords, records, useLive } from './live.ts';
import { type Loadable, usePoll } from './poll.ts';
import { toast } from './toasts.ts';

const FIRST_ROWS = 200;
const SHOWN_ROWS = 50;
const MORE_ROWS = 100;
const REFRESH_MS = 10_000;

/** A list that the stream keeps up to date. */
interface RecordList<R extends MessageRecord | CallRecord> {
  readonly rows: readonly R[];
  readonly reply: Loadable<RecordsReply>;
  /** Shows older ones; absent if all that is kept is shown. */
  readonly showMore: (() => void) | undefined;
}

interface Records {
  messages: MessageRecord;
  calls: CallRecord;
}

/** The records that `query` lets through: what is kept, and then what happens. */
export function useRecordList<P extends keyof Records>(path: P, query: RecordQuery): RecordList<Records[P]> {
  const kind = path === 'messages' ? 'message' : 'call';
  const shown = useSignal(SHOWN_ROWS);
  const older = useSignal<string | undefined>(undefined);
  const isFirst = useSignal(true);
  const url = urlOf(path, { ...query });
  const asked = useRef('');
  useLive({ ...query, kinds: kind });
  const reply: Loadable<RecordsReply> = usePoll(path, { ...query, limit: FIRST_ROWS }, REFRESH_MS);
  useEffect(() => {
    shown.value = SHOWN_ROWS;
    isFirst.value = true;
    asked.current = url;
    return () => {
      asked.current = '';
    };
  }, [url]);
  useEffect(() => {
    if (reply.data === undefined || reply.isStale) return;
    addRecords(reply.data.records);
    if (isFirst.value) older.value = reply.data.cursor;
    isFirst.value = false;
  }, [reply.data, reply.isStale]);
  const rows = records.value.filter((record): record is Records[P] => record.kind === kind);
  const showMore = async () => {
    shown.value += MORE_ROWS;
    if (shown.value <= rows.length || older.value === undefined) return;
    try {
      const more: RecordsReply = await get(path, { ...query, cursor: older.value, limit: FIRST_ROWS });
      // They belong to a list that is shown no more.
      if (asked.current !== url) return;
      addRecords(more.records);
      older.value = more.cursor;
    } catch (error) {
      toast('bad', messageOf(error));
    }
  };
  const hasMore = rows.length > shown.value || older.value !== undefined;
  return {
    rows: rows.slice(0, shown.value),
    reply,
    showMore: hasMore ? () => void showMore() : undefined,
  };
}
