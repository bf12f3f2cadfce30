import type { RecordsReply } from '../../api/live.ts';
import { count } from '../core/format.ts';
import { skipped } from '../core/live.ts';
import { KEPT_RECORDS } from '../core/merge.ts';
import { Ago } from './time.tsx';

interface MoreProps {
  readonly rows: number;
  readonly showMore: (() => void) | undefined;
}

/** Explains a list of records: those of this process, as far as they are kept. */
export function RecordNote({ reply }: { readonly reply: RecordsReply | undefined }) {
  if (reply === undefined) return <>Of this process.</>;
  return (
    <>
      Of this process. Recording{' '}
      {reply.recordingSince === undefined ? 'begins now' : <Since at={reply.recordingSince} />} · {count(reply.kept)} of{' '}
      {count(reply.capacity)} records{reply.hasDropped ? ', the oldest dropped' : ''}
      {skipped.value > 0 ? ` · ${count(skipped.value)} changes skipped: too many to show` : ''}
    </>
  );
}

function Since({ at }: { readonly at: number }) {
  return (
    <>
      began <Ago at={at} />
    </>
  );
}

/** The foot of the list. */
export function MoreRecords({ rows, showMore }: MoreProps) {
  if (rows === 0) return null;
  return (
    <div class="pager">
      {showMore === undefined || rows >= KEPT_RECORDS ? (
        <span class="dim">{rows >= KEPT_RECORDS ? `The page keeps ${count(KEPT_RECORDS)}` : 'No older ones'}</span>
      ) : (
        <button type="button" class="button" onClick={showMore}>
          Show older
        </button>
      )}
    </div>
  );
}
