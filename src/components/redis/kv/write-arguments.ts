import { isUtf8 } from 'node:buffer';
import type { KeyValueOperation, OutboxEvent, WriteOutcome } from '../../key-value.ts';
import type { RedisArgument } from '../driver.ts';
import { REFUSED, SKIPPED } from './scripts.ts';

/** Values up to this size are sent as texts. */
const MAX_TEXT_BYTES = 16 * 1_024;

/** Operations that are done together or not at all. */
export interface Group {
  readonly operations: readonly KeyValueOperation[];
  readonly events: readonly OutboxEvent[];
}

/** The arguments of the script of writes. */
export function argumentsOf(groups: readonly Group[]): readonly RedisArgument[] {
  if (groups.every(isPlain)) return plainArgumentsOf(groups);
  const args: RedisArgument[] = [
    groups.map(({ operations, events }) => `${operations.length}+${events.length}`).join(),
  ];
  for (const { operations, events } of groups) {
    for (const one of operations) args.push(headOf(one), one.kind === 'put' ? argumentOf(one.value) : '');
    for (const { id, bytes } of events) args.push(id, argumentOf(bytes));
  }
  return args;
}

/** Most writes are: the server then has less to read, and to look at. */
function isPlain({ operations, events }: Group): boolean {
  if (events.length > 0) return false;
  return operations.every((one) => one.kind === 'put' && one.ttlMs === undefined && one.condition === undefined);
}

function plainArgumentsOf(groups: readonly Group[]): readonly RedisArgument[] {
  const isEachAlone = groups.every(({ operations }) => operations.length === 1);
  const args: RedisArgument[] = [isEachAlone ? '' : groups.map(({ operations }) => operations.length).join()];
  for (const { operations } of groups)
    for (const one of operations) if (one.kind === 'put') args.push(argumentOf(one.value));
  return args;
}

function headOf(one: KeyValueOperation): string {
  const { condition } = one;
  const required = condition === undefined ? '' : condition === 'absent' ? '!' : `=${condition.etag}`;
  if (one.kind === 'remove') return `r${required}`;
  return `p${one.ttlMs === undefined ? '' : Math.ceil(one.ttlMs)}${required}`;
}

/** The driver sends all texts that follow each other in one piece, and bytes in one of their own. */
function argumentOf(bytes: Uint8Array): RedisArgument {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.length <= MAX_TEXT_BYTES && isUtf8(buffer) ? buffer.toString() : buffer;
}

/** The outcome of an operation. */
export function outcomeOf(answer: string): WriteOutcome {
  if (answer === REFUSED) return { status: 'refused' };
  if (answer === SKIPPED) return { status: 'skipped' };
  return answer === '' ? { status: 'done' } : { status: 'done', etag: answer };
}

/** The outcomes of so many operations that all have the same answer. */
export function sameOutcomes(count: number, answer: Buffer): readonly WriteOutcome[] {
  return new Array<WriteOutcome>(count).fill(outcomeOf(String(answer)));
}
