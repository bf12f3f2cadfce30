import { createHmac, timingSafeEqual } from 'node:crypto';
import type { StateErrorKind } from '../../state/errors.ts';
import { MAX_BATCH_BYTES } from '../../state/store.ts';
import { VERSION } from '../../version.ts';
import type { PendingGroup } from '../remote/pending-group.ts';
import type { BinaryReader, BinaryWriter } from './binary-codec.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import { listOf, type PackedGroup, readBatch, writeBatch } from './protocol.ts';

/*
 * How the process that holds a state directory and the others that have joined it, its guests, speak on its socket. All
 * goes in frames (`frames.ts`). Each side first sends one of JSON; then the guest sends calls, and the holder answers
 * and messages. A call is an operation, a number and what belongs to it; its answer has the same number.
 */

/** The version of what follows. Processes with different ones do not join each other. */
export const GUEST_PROTOCOL = 1;

/** Before a guest has been admitted. */
export const MAX_GREETING_BYTES: number = 4 * 1024;
/** A group ends with the batch that reaches 16 MiB. */
export const MAX_CALL_BYTES: number = 4 * MAX_BATCH_BYTES;
/** Of what the holder sends: a scan may ask for any number of entries. */
export const MAX_ANSWER_BYTES: number = 2 ** 30;
/** How long a guest may take to greet. */
export const GREETING_LIMIT_MS = 10_000;

/** The first frame of a guest. */
export interface Hello {
  readonly protocol: number;
  /** The schema version that its release writes. */
  readonly schema: number;
  readonly release: string;
  /** Whether it is to be sent messages. */
  readonly listens: boolean;
  /** That it has read the record of the holder: see {@link proofOf}. */
  readonly proof: string;
}

/** The first frame of a holder. */
export type Welcome =
  | {
      readonly serverId: string;
      readonly proof: string;
      /** How many connections of guests there are already. */
      readonly rank: number;
    }
  | { readonly refused: { readonly kind: StateErrorKind; readonly message: string } };

export function helloOf(key: string, listens: boolean): Hello {
  const proof = proofOf(key, 'guest');
  return { protocol: GUEST_PROTOCOL, schema: SCHEMA_VERSION, release: VERSION, listens, proof };
}

/**
 * Proves that one has read the record of the holder, which only its user can: where sockets have no modes, and for one
 * that lies elsewhere than in the directory.
 */
export function proofOf(key: string, side: 'guest' | 'holder'): string {
  return createHmac('sha256', key).update(`insidecar state directory, ${side}`).digest('base64');
}

export function isProof(given: unknown, key: string, side: 'guest' | 'holder'): boolean {
  const expected = Buffer.from(proofOf(key, side));
  const bytes = Buffer.from(typeof given === 'string' ? given : '');
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

/** The operations that a guest calls. */
export const READ = 1;
export const OPEN_SESSION = 2;
export const CLOSE_SESSION = 3;
export const COMMIT = 4;
export const NOTIFY = 5;

/** How a frame of the holder begins. */
export const DONE = 0;
export const FAILED = 1;
/** Nothing was written: the session is unknown or has ended. */
export const SESSION_CLOSED = 2;
/** A message; its number is 0. */
export const MESSAGE = 3;
/** The holder closes the directory: the guest may take it over. Its number is 0. */
export const GOODBYE = 4;

/** Begins a frame. */
export function writeHead(writer: BinaryWriter, kind: number, number: number): void {
  writer.byte(kind);
  writer.u32(number);
}

export function writeTexts(writer: BinaryWriter, texts: readonly string[]): void {
  writer.u32(texts.length);
  for (const text of texts) writer.text(text);
}

export function readTexts(reader: BinaryReader): string[] {
  return listOf(reader, () => reader.text());
}

/** Packs what is left of a group, and its message. */
export function writeGroup(writer: BinaryWriter, pending: PendingGroup): void {
  const { session, number, firstVersion, message } = pending.group;
  writer.f64(session);
  writer.f64(number);
  writer.text(pending.refusedNumbers.join());
  writeTexts(writer, message === undefined ? [] : [message]);
  writer.u32(pending.group.batches.length - pending.refusals.length);
  pending.eachLeft((batch, index) => {
    writer.f64(firstVersion + index);
    writeBatch(writer, batch);
  });
}

/** A group with the messages that go with it. */
export interface ToldGroup extends PackedGroup {
  readonly messages: readonly string[];
}

export function readGroup(reader: BinaryReader): ToldGroup {
  const [session, number, refused] = [reader.f64(), reader.f64(), reader.text()];
  const messages = readTexts(reader);
  const batches = listOf(reader, () => ({ version: reader.f64(), batch: readBatch(reader) }));
  return { session, number, refused, messages, batches };
}
