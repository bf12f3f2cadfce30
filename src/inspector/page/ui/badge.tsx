import type { ComponentChildren } from 'preact';

/** Good, in progress, worth a look, failed, or neither of these. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

const MARKS: Readonly<Record<Tone, string>> = { good: '✓', busy: '→', warn: '!', bad: '✗', idle: '·' };

interface BadgeProps {
  readonly tone: Tone;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** A state in words, with a mark and a colour. */
export function Badge({ tone, title, children }: BadgeProps) {
  return (
    <span class={`badge ${tone}`} title={title}>
      <span aria-hidden="true">{MARKS[tone]}</span> {children}
    </span>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  published: 'idle',
  delivering: 'busy',
  retrying: 'warn',
  delivered: 'good',
  dropped: 'bad',
  deadLettered: 'bad',
  unsettled: 'warn',
  running: 'busy',
  done: 'good',
  failed: 'bad',
  started: 'busy',
  completed: 'good',
  terminated: 'idle',
  PENDING: 'idle',
  RUNNING: 'busy',
  COMPLETED: 'good',
  FAILED: 'bad',
  TERMINATED: 'idle',
  SUSPENDED: 'warn',
  CANCELED: 'idle',
};

/** The outcome of a message, job or workflow, or the status of a workflow. */
export function Outcome({ of, title }: { readonly of: string; readonly title?: string | undefined }) {
  return (
    <Badge tone={TONES[of] ?? 'idle'} title={title}>
      {of === 'deadLettered' ? 'dead-lettered' : of.toLowerCase()}
    </Badge>
  );
}

/** The HTTP status of a call. */
export function Status({ of }: { readonly of: number }) {
  if (of === 0) return <Badge tone="bad">no response</Badge>;
  return <Badge tone={of < 400 ? 'good' : of < 500 ? 'warn' : 'bad'}>{of}</Badge>;
}
