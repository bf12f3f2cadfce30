import type { Batch, Precondition, Put } from '../state/store.ts';
import {
  encodeHost,
  encodeTableVersion,
  type HostRecord,
  type HostTable,
  hostKey,
  type StoredHost,
  tableUnchanged,
} from './hosts.ts';

/** This host's part of a commit. */
export interface OwnChange {
  readonly require: readonly Precondition[];
  readonly put: readonly Put[];
  /** Call it with the version of the commit. */
  readonly written: (version: number) => void;
}

/** The record of this host: the stored and the wanted one. Only this host writes it; others may remove it. */
export class HostRegistration {
  #record: HostRecord;
  #version: number | 'absent' = 'absent';
  #toWrite: 'no' | 'renewed' | 'changed' = 'no';

  constructor(record: HostRecord) {
    this.#record = record;
  }

  get record(): HostRecord {
    return this.#record;
  }

  /** Whether the record has to be written. */
  get isDue(): boolean {
    return this.#toWrite !== 'no' || this.#version === 'absent';
  }

  /** Writes the record again, so that other hosts see that this host is alive. */
  renew(): void {
    if (this.#toWrite === 'no') this.#toWrite = 'renewed';
  }

  setActorTypes(actorTypes: readonly string[], updatedAt: number): void {
    this.#record = { ...this.#record, actorTypes, updatedAt };
    this.#toWrite = 'changed';
  }

  /** Looks for the record; returns whether other hosts have removed it, since they considered this host dead. */
  isGone({ hosts }: HostTable): boolean {
    const own = hosts.find(({ id }) => id === this.#record.id);
    if (own === undefined) return this.#version !== 'absent';
    this.#version = own.version;
    return false;
  }

  /** Says that this host stops. */
  retire(): void {
    this.#record = { ...this.#record, isLeaving: true };
    this.renew();
  }

  /** Starts again with another ID. */
  replace(id: string, updatedAt: number): void {
    this.#record = { ...this.#record, id, updatedAt };
    this.#version = 'absent';
  }

  /** The part that only renews it; `undefined` if more has to be written. */
  renewal(): OwnChange | undefined {
    const record = this.#record;
    if (this.#toWrite !== 'renewed' || this.#version === 'absent') return undefined;
    const require = [{ key: hostKey(record.id), version: this.#version }];
    return { require, put: [encodeHost(record)], written: (version) => this.#written(record, version) };
  }

  #written(record: HostRecord, version: number): void {
    this.#version = version;
    if (this.#record === record) this.#toWrite = 'no';
  }

  /** Its part of a commit that also removes dead hosts. The table of hosts with actor types gets a new version. */
  change(table: HostTable, dead: readonly StoredHost[]): OwnChange {
    const record = this.#record;
    const { isDue } = this;
    const require: Precondition[] = [{ key: hostKey(record.id), version: this.#version }];
    const put: Put[] = isDue ? [encodeHost(record)] : [];
    const isNewHost = this.#version === 'absent' && record.actorTypes.length > 0;
    if (isNewHost || this.#toWrite === 'changed' || dead.some(({ actorTypes }) => actorTypes.length > 0)) {
      require.push(tableUnchanged(table));
      put.push(encodeTableVersion(table.tableVersion + 1));
    }
    const written = (version: number): void => {
      if (isDue) this.#written(record, version);
    };
    return { require, put, written };
  }

  /** The batch that removes the record; `undefined` if it no longer exists. */
  withdrawal(table: HostTable): Required<Omit<Batch, 'by'>> | undefined {
    const own = table.hosts.find(({ id }) => id === this.#record.id);
    if (own === undefined) return undefined;
    const { key, version } = own;
    const counts = own.actorTypes.length > 0;
    return {
      require: [{ key, version }, ...(counts ? [tableUnchanged(table)] : [])],
      put: counts ? [encodeTableVersion(table.tableVersion + 1)] : [],
      delete: [key],
    };
  }
}
