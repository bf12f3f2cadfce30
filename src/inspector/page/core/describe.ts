import type { LiveRecord } from '../../api/live.ts';
import { link } from './router.ts';

/** A record of any kind in one line. */
export interface Line {
  /** `message`, `call`, `job` or `workflow`. */
  readonly kind: string;
  readonly subject: string;
  readonly outcome: string;
  readonly detail: string;
  /** The page that shows it. */
  readonly href: string;
}

export function describe(record: LiveRecord): Line {
  switch (record.kind) {
    case 'message':
      return {
        kind: 'message',
        subject: record.topic,
        outcome: record.outcome,
        detail: record.attempts.at(-1)?.reason ?? [record.group, record.route].filter(Boolean).join(' → '),
        href: link('messages', { open: record.key }),
      };
    case 'call':
      return {
        kind: record.direction === 'out' ? 'call' : 'call in',
        subject: record.target,
        outcome: record.status === 0 ? 'no response' : String(record.status),
        detail: `${record.method} ${record.path}`,
        href: link('calls', { target: record.target }),
      };
    case 'job':
      return {
        kind: 'job',
        subject: record.jobName,
        outcome: record.outcome,
        detail: record.reason ?? '',
        href: link(['jobs', record.jobName]),
      };
    case 'workflow':
      return {
        kind: 'workflow',
        subject: `${record.workflowName} ${record.instanceId}`,
        outcome: record.outcome,
        detail: record.reason ?? '',
        href: link(['workflows', record.instanceId]),
      };
  }
}
