import { traceLink } from '../core/session.ts';

/** The way to the trace; its ID if there is none. */
export function Trace({ of }: { readonly of: string | undefined }) {
  const href = traceLink(of);
  if (of === undefined) return <span class="dim">–</span>;
  if (href === undefined) return <code>{of.split('-')[1] ?? of}</code>;
  return (
    <a href={href} target="_blank" rel="noreferrer">
      trace ↗
    </a>
  );
}
