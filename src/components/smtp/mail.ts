import { jsonString } from '../../util/json-text.ts';
import { BindingError, type BindingRequest } from '../binding.ts';
import type { Mail, MailAddress } from './driver.ts';

/** The parts of a mail that a call may give, and else the options do. Several addresses have semicolons between them. */
export interface MailParts {
  readonly emailFrom?: string | undefined;
  readonly emailTo?: string | undefined;
  readonly emailCC?: string | undefined;
  readonly emailBCC?: string | undefined;
  readonly subject?: string | undefined;
  readonly priority?: number | string | undefined;
}

/** Without comments, quotes and routes (RFC 5322, section 3.4): programs disagree about where such an address leads. */
const ADDRESS = /^[^\s<>()[\]{},;:\\"@\p{Cc}]{1,64}@[^\s<>()[\]{},;:\\"@\p{Cc}]{1,255}$/u;
const NAMED = /^([^<>]*)<([^<>]*)>$/;
/** A line break in a header would begin another one. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/**
 * The mail of a call. All that it says is for this mail only.
 *
 * @throws BindingError for a part that is missing or wrong; it does not show addresses.
 */
export function mailOf(defaults: MailParts, { data, metadata }: BindingRequest): Mail {
  const part = (name: Exclude<keyof MailParts, 'priority'>): string => metadata[name] || (defaults[name] ?? '');
  const [from, another] = addressesIn(part('emailFrom'), 'emailFrom');
  const to = addressesIn(part('emailTo'), 'emailTo');
  if (from === undefined || another !== undefined) throw new BindingError('metadata emailFrom: expected one address');
  if (to.length === 0) throw new BindingError('metadata emailTo: expected an address, or several with ; between them');
  const subject = part('subject');
  if (subject === '') throw new BindingError('metadata subject is missing');
  if (CONTROL.test(subject)) throw new BindingError('metadata subject has a control character: expected one line');
  return {
    ...{ from, to, cc: addressesIn(part('emailCC'), 'emailCC'), bcc: addressesIn(part('emailBCC'), 'emailBCC') },
    ...{
      subject,
      html: htmlOf(data),
      headers: { 'X-Priority': priorityOf(metadata['priority'] || defaults.priority) },
    },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  };
}

/** What is wrong with a list of addresses; `undefined` if each can be written to. */
export function addressProblem(text: string): string | undefined {
  return readAddresses(text) === undefined ? 'addresses like "a@b.example" or "Name <a@b.example>"' : undefined;
}

function addressesIn(text: string, name: string): readonly MailAddress[] {
  const addresses = readAddresses(text);
  if (addresses !== undefined) return addresses;
  throw new BindingError(`metadata ${name}: expected addresses like "a@b.example" with ; between them`);
}

function readAddresses(text: string): readonly MailAddress[] | undefined {
  const addresses: MailAddress[] = [];
  for (const entry of text.split(';')) {
    const trimmed = entry.trim();
    if (trimmed === '') continue;
    const [, name = '', address = trimmed] = NAMED.exec(trimmed) ?? [];
    if (CONTROL.test(trimmed) || !ADDRESS.test(address.trim())) return undefined;
    addresses.push({ name: name.trim().replaceAll(/^"|"$/g, ''), address: address.trim() });
  }
  return addresses;
}

function htmlOf(data: Uint8Array): string {
  const text = Buffer.from(data.buffer, data.byteOffset, data.length).toString();
  if (!text.startsWith('"')) throw new BindingError('data: expected a text, the body of the mail in HTML');
  return jsonString(text);
}

function priorityOf(given: number | string = 3): string {
  const text = String(given);
  if (!/^[1-5]$/.test(text)) throw new BindingError('metadata priority: expected a number from 1, the highest, to 5');
  return text;
}
