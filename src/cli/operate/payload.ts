import type { PayloadView } from '../../inspector/api/apps.ts';

/** Data on one line. */
export function payloadLine(payload: PayloadView | undefined): string {
  if (payload === undefined) return '';
  const { format, value, bytes, isCut } = payload;
  if (format === 'hidden') return `(${bytes} bytes, hidden)`;
  if (format === 'base64') return `(${bytes} bytes)`;
  const line = value.trim().replace(/\s*\n\s*/g, ' ');
  return isCut ? `${line}…` : line;
}

/** Data on several lines. */
export function payloadText(payload: PayloadView | undefined): string | undefined {
  if (payload === undefined) return undefined;
  const { format, value, bytes, isCut } = payload;
  if (format === 'hidden') return `(${bytes} bytes, hidden)`;
  return isCut ? `${value}… (${bytes} bytes in all)` : value;
}
