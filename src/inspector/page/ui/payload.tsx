import { useMemo } from 'preact/hooks';
import type { PayloadView } from '../../api/apps.ts';
import { bytes } from '../core/format.ts';
import { prettyJson } from '../core/json.ts';
import { toast } from '../core/toasts.ts';

/** Colours cost an element each: longer text goes without. */
const MOST_PIECES = 3000;

interface PayloadProps {
  /** Absent if it is no longer kept, or never existed. */
  readonly of: PayloadView | undefined;
  readonly label?: string;
  /** The text if it is absent. */
  readonly absent?: string;
}

/** Data, readable: JSON with line breaks but unchanged numbers, text, or base64; with what is missing of it. */
export function Payload({ of, label = 'Data', absent = 'None' }: PayloadProps) {
  if (of === undefined) return <p class="dim">{absent}</p>;
  return (
    <div class="payload">
      <div class="payload-head">
        <span>
          {[of.contentType, bytes(of.bytes), of.format === 'base64' ? 'base64' : undefined].filter(Boolean).join(' · ')}
        </span>
        {of.isCut ? <span class="badge warn">only the beginning</span> : null}
        {of.isMasked ? <span class="badge warn">parts masked</span> : null}
        {of.format === 'hidden' ? null : <Copy text={of.value} label={label} />}
      </div>
      {of.format === 'hidden' ? (
        <p class="dim">Not shown: payloads are hidden here.</p>
      ) : (
        <Text label={label} value={of.value} isJson={of.format === 'json'} />
      )}
    </div>
  );
}

/** Any value that was JSON once. */
export function JsonValue({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <Text label={label} value={JSON.stringify(value) ?? ''} isJson />;
}

function Text({ label, value, isJson }: { readonly label: string; readonly value: string; readonly isJson: boolean }) {
  const pieces = useMemo(() => (isJson ? prettyJson(value) : undefined), [value, isJson]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard.
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>
        {pieces === undefined
          ? value
          : pieces.length > MOST_PIECES
            ? pieces.map(({ text }) => text).join('')
            : pieces.map(({ kind, text }, at) =>
                kind === 'plain' ? (
                  text
                ) : (
                  <span key={at} class={`json-${kind}`}>
                    {text}
                  </span>
                ),
              )}
      </pre>
    </section>
  );
}

/** Copies text. The clipboard is open to pages of HTTPS and of this machine only. */
function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast('ok', `${label} copied`);
    } catch {
      toast('bad', 'The browser does not let this page copy: select the text instead.');
    }
  };
  return (
    <button type="button" class="button small" aria-label={`Copy ${label.toLowerCase()}`} onClick={() => void copy()}>
      Copy
    </button>
  );
}
