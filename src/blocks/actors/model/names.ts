import { SidecarError } from '../../../errors.ts';
import { shown } from '../../../util/shown.ts';
import type { ActorAddress } from './address.ts';

const MAX_NAME_BYTES = 256;
const MAX_ID_BYTES = 512;
const MAX_KEY_BYTES = 512;
/** Type, ID and key of a value together. */
const MAX_WHOLE_KEY_BYTES = 900;
const NOT_IN_NAME = /[\p{Cc}/\\#?]/u;
const NOT_IN_METHOD = /[\p{Cc}\\#?]/u;
/** The callbacks of reminders and timers. In any case: many frameworks route so. */
const CALLBACKS = /^(?:remind|timer)\//i;

/** @throws SidecarError `ERR_BAD_REQUEST` for a name that a path cannot carry */
export function checkAddress({ actorType, actorId }: ActorAddress): void {
  checkName('the actor type', actorType, MAX_NAME_BYTES);
  checkName('the actor ID', actorId, MAX_ID_BYTES);
}

/** Checks the name of a reminder or timer. @throws SidecarError `ERR_BAD_REQUEST` */
export function checkTickName(kind: 'reminder' | 'timer', name: string): void {
  checkName(`the ${kind} name`, name, MAX_NAME_BYTES);
}

function checkName(what: string, name: string, maxBytes: number): void {
  checkText(what, name, maxBytes);
  if (NOT_IN_NAME.test(name)) throw refused(what, name, 'a name without / \\ # ? and control characters');
  if (name === '.' || name === '..') throw refused(what, name, 'another name than . and ..');
}

/** @throws SidecarError `ERR_BAD_REQUEST` for a method that is none, or a callback of reminders and timers */
export function checkMethod(method: string): void {
  // As long as a path may be.
  checkText('the method', method, Number.POSITIVE_INFINITY);
  if (NOT_IN_METHOD.test(method)) throw refused('the method', method, 'a path without \\ # ? and control characters');
  if (method.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw refused('the method', method, 'a path without empty parts, . and ..');
  if (CALLBACKS.test(method))
    throw refused('the method', method, 'another one: only the sidecar calls reminders and timers');
}

/** @throws SidecarError `ERR_BAD_REQUEST` for a key of an actor's state that is empty or too long */
export function checkStateKey({ actorType, actorId }: ActorAddress, key: string): void {
  checkText('the key', key, MAX_KEY_BYTES);
  const bytes = Buffer.byteLength(actorType) + Buffer.byteLength(actorId) + Buffer.byteLength(key);
  if (bytes > MAX_WHOLE_KEY_BYTES)
    throw refused('the key', key, `at most ${MAX_WHOLE_KEY_BYTES} bytes together with type and ID, not ${bytes}`);
}

function checkText(what: string, text: string, maxBytes: number): void {
  // Plain JavaScript may give anything.
  if (typeof text !== 'string') throw refused(what, text, 'a text');
  if (text === '') throw new SidecarError('ERR_BAD_REQUEST', `${what} is empty`, { argument: argumentOf(what) });
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes)
    throw refused(what, text, `at most ${maxBytes} bytes`);
  if (!text.isWellFormed()) throw refused(what, text, 'text without unpaired surrogates');
}

function refused(what: string, value: string, expected: string): SidecarError {
  const problem = `${what} is ${shown(value)}: expected ${expected}`;
  return new SidecarError('ERR_BAD_REQUEST', problem, { argument: argumentOf(what) });
}

/** The last word of what is checked names the argument in code: `type`, `id`, `name`, `method`, `key`. */
function argumentOf(what: string): string {
  return what.slice(what.lastIndexOf(' ') + 1).toLowerCase();
}
