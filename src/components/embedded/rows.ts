import { isUint8Array } from 'node:util/types';
import { crc32 } from 'node:zlib';
import { quote } from '../../state/errors.ts';
import { corruptError } from './failures.ts';
import type { AnsweredRow, PackedScan } from './protocol.ts';

/** A row as SQLite answers it. In a damaged file, each value may have another type. */
export interface StoredRow {
  readonly key?: Uint8Array;
  readonly version: number;
  /** Some drivers answer empty bytes as `null`. */
  readonly value: Uint8Array | null;
  /** `null` in rows that a release without checksums wrote. */
  readonly checksum: number | null;
}

/** A row of a scan. */
export type ScannedRow = StoredRow & { readonly key: Uint8Array };

const EMPTY = new Uint8Array(0);
const WORD = 2 ** 32;

/** The CRC-32 of a row, which begins with its version. Signed, so that SQLite keeps it in four bytes. */
export function checksumOf(key: Uint8Array, version: number, value: Uint8Array): number {
  const ofKey = crc32(key, (version ^ Math.floor(version / WORD)) >>> 0);
  // Of empty bytes without memory, zlib answers 0.
  return (value.byteLength === 0 ? ofKey : crc32(value, ofKey)) | 0;
}

/**
 * Checks a row against its checksum.
 *
 * @param file - for the message
 * @returns the row; without its value, and with a message, if it is damaged
 */
export function checkedRow(row: StoredRow, key: Uint8Array, file: string): AnsweredRow {
  // Nearly always: the row as it is, without a copy.
  if (isIntact(row, key)) return row;
  const { version, checksum } = row;
  const what = `The entry ${quote(Buffer.from(key).toString())} in ${quote(file)}`;
  const why = checksum === null ? 'has no version or value' : 'does not fit its checksum';
  return {
    ...(row.key !== undefined && { key }),
    version: Number.isSafeInteger(version) ? version : 0,
    value: null,
    damage: `${what} is damaged: it ${why}.`,
  };
}

function isIntact({ version, value, checksum }: StoredRow, key: Uint8Array): boolean {
  if (typeof version !== 'number' || !(value === null || isUint8Array(value))) return false;
  return checksum === null || checksum === checksumOf(key, version, value ?? EMPTY);
}

/** In a damaged file, rows may be out of order: reading them in pages would never come to an end. */
export function checkOrder(rows: readonly ScannedRow[], { from, to, reverse }: PackedScan): void {
  const ascending = reverse ? rows.toReversed() : rows;
  let before: Uint8Array | undefined;
  for (const { key } of ascending) {
    if (!isUint8Array(key)) throw corruptError('a key is damaged');
    const isNext = before === undefined ? Buffer.compare(key, from) >= 0 : Buffer.compare(key, before) > 0;
    if (!isNext) throw outOfOrder(key);
    before = key;
  }
  if (before !== undefined && to !== undefined && Buffer.compare(before, to) >= 0) throw outOfOrder(before);
}

function outOfOrder(key: Uint8Array): Error {
  return corruptError(`the entry ${quote(Buffer.from(key).toString())} is out of order`);
}
