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

/** Of outcomes and statuses in lower case, those that are not idle. */
const TONES: Readonly<Record<string, Tone>> = {
  delivering: 'busy',
  retrying: 'warn',
  delivered: 'good',
  dropped: 'bad',
  deadlettered: 'bad',
  unsettled: 'warn',
  running: 'busy',
  done: 'good',
  failed: 'bad',
  started: 'busy',
  completed: 'good',
  suspended: 'warn',
};

/** The outcome of a message, job or workflow, or the status of a workflow. */
export function Outcome({ of, title }: { readonly of: string; readonly title?: string | undefined }) {
  const outcome = of.toLowerCase();
  return (
    <Badge tone={TONES[outcome] ?? 'idle'} title={title}>
      {outcome === 'deadlettered' ? 'dead-lettered' : outcome}
    </Badge>
  );
}

/** The HTTP status of a call. */
export function Status({ of }: { readonly of: number }) {
  if (of === 0) return <Badge tone="bad">no response</Badge>;
  return <Badge tone={of < 400 ? 'good' : of < 500 ? 'warn' : 'bad'}>{of}</Badge>;
}
