import type { PendingGroup } from '../remote/pending-group.ts';
import { byteaArray, int4Array, int8Array, keyArray } from './binary.ts';

/** Puts of one kind, each with the index of its batch. */
class Puts {
  readonly #rows: { readonly batch: number; readonly key: string; readonly value: Uint8Array | undefined }[] = [];

  add(batch: number, key: string, value?: Uint8Array): void {
    this.#rows.push({ batch, key, value });
  }

  /** In the order of the keys: processes that write the same ones in different orders would wait for each other. */
  get columns(): readonly Buffer[] {
    const rows = this.#rows.sort((a, b) => (a.key < b.key ? -1 : 1));
    return [
      int4Array(rows.map(({ batch }) => batch)),
      keyArray(rows.map(({ key }) => key)),
      byteaArray(rows.map(({ value }) => value)),
    ];
  }
}

/** Keys and the versions that they must have. */
class Versions {
  readonly #rows: { readonly key: Buffer; readonly version: number }[] = [];

  add(key: string, version: number): void {
    this.#rows.push({ key: Buffer.from(key), version });
  }

  /** In the server's order of keys. */
  get columns(): readonly Buffer[] {
    const rows = this.#rows.sort((a, b) => Buffer.compare(a.key, b.key));
    return [byteaArray(rows.map(({ key }) => key)), int8Array(rows.map(({ version }) => version))];
  }
}

/** The arguments of `commit_group_3` for the batches that are left. */
export function groupArguments(pending: PendingGroup): readonly unknown[] {
  const { session, number, firstVersion } = pending.group;
  const { required } = pending;
  const [made, updated, put] = [new Puts(), new Puts(), new Puts()];
  const changed = new Set<string>();
  const deleted: string[] = [];
  pending.eachLeft((batch, index) => {
    for (const { key, value } of batch.put ?? []) {
      changed.add(key);
      const version = required.get(key);
      if (version === undefined) put.add(index, key, value);
      else (version === 'absent' ? made : updated).add(index, key, value);
    }
    for (const key of batch.delete ?? []) deleted.push(key);
  });
  for (const [key, version] of required) if (version === 'absent' && !changed.has(key)) made.add(0, key);
  for (const key of deleted) changed.add(key);
  const [shared, locked] = [new Versions(), new Versions()];
  for (const [key, version] of required)
    if (version !== 'absent') (changed.has(key) ? locked : shared).add(key, version);
  return [
    ...[session, number, firstVersion].map(String),
    int4Array(pending.refusedNumbers),
    ...[shared, locked, made, updated, put].flatMap(({ columns }) => columns),
    keyArray(deleted),
  ];
}

/**
 * The arguments of `commit_one_1` if it can write the group: one commit with one precondition on another entry than the
 * one that it puts or deletes.
 */
export function oneArguments({ group, refusals }: PendingGroup): readonly unknown[] | undefined {
  const [{ require = [], put = [], delete: deleted = [] } = {}, ...others] = group.batches;
  const [required, ...more] = require;
  if (others.length > 0 || more.length > 0 || put.length + deleted.length !== 1 || refusals.length > 0)
    return undefined;
  const key = put[0]?.key ?? deleted[0];
  if (required === undefined || key === undefined) return undefined;
  if (required.version === 'absent' || required.key === key) return undefined;
  const { session, number, firstVersion } = group;
  const fence = [Buffer.from(required.key), String(required.version)];
  return [...[session, number, firstVersion].map(String), ...fence, Buffer.from(key), put[0]?.value ?? null];
}
