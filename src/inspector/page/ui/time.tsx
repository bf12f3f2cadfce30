import { useComputed } from '@preact/signals';
import { clockTime, fullTime, relative } from '../core/format.ts';
import { now } from '../core/visibility.ts';

/** An instant as `4 min ago` or `in 2 h`, kept up to date; its title has the date. `-` for none. */
export function Ago({ at }: { readonly at: number | undefined }) {
  return at === undefined ? <span class="dim">–</span> : <Relative key={at} at={at} />;
}

function Relative({ at }: { readonly at: number }) {
  const text = useComputed(() => relative(at, now.value));
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {text}
    </time>
  );
}

/** An instant as the time of day; its title has the date. */
export function Clock({ at }: { readonly at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {clockTime(at)}
    </time>
  );
}
