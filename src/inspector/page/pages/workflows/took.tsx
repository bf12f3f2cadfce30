import { useComputed } from '@preact/signals';
import type { InstanceInfo } from '../../../api/workflows.ts';
import { duration } from '../../core/format.ts';
import { now } from '../../core/visibility.ts';
import { isOver } from '../../timeline/model.ts';

interface TookProps {
  readonly of: Pick<InstanceInfo, 'status' | 'createdAt' | 'lastUpdatedAt'>;
}

/** From the start to the end, or until now. */
export function Took({ of: { status, createdAt, lastUpdatedAt } }: TookProps) {
  return isOver(status) ? duration(lastUpdatedAt - createdAt) : <Since key={createdAt} at={createdAt} />;
}

function Since({ at }: { readonly at: number }) {
  const text = useComputed(() => `${duration(Math.max(now.value - at, 0))} so far`);
  return <>{text}</>;
}
