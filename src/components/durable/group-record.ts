import type { KeyedEntry, Precondition } from '../../state/store.ts';
import type { Layout } from './layout.ts';
import { readRecord } from './records.ts';

/** The name of a group. */
export interface GroupName {
  readonly topic: string;
  readonly group: string;
}

/** The stored record of a group. Records of earlier releases have only the names. */
export interface GroupRecord extends GroupName {
  /** How many groups the component had before it. */
  readonly number?: number;
  /** It is to begin with messages of the startup period and has not received them yet. */
  readonly isUnfilled?: boolean;
  /** It keeps the dead letters of a topic without subscribers: the first group of a subscriber takes them over. */
  readonly keeps?: boolean;
  /** It has ended: its messages go to the heir, or are removed without an heir; then the record is removed. */
  readonly ended?: { readonly heir?: string };
}

/** A group that has ended and whose messages are not gone yet. */
export interface EndedGroup extends GroupName {
  /** The group that gets its messages; `undefined` if they are removed. */
  readonly heir: string | undefined;
  /** The group's entry in its current version. */
  readonly entry: Precondition;
}

/** Reads the record of a group. The names are also in the key: a record with other ones is damaged. */
export function readGroup(layout: Layout, { key, value }: Pick<KeyedEntry, 'key' | 'value'>): GroupRecord {
  const is = (content: unknown): content is GroupRecord => {
    const { topic, group } = (content ?? {}) as Partial<GroupRecord>;
    return typeof topic === 'string' && typeof group === 'string' && layout.group(topic, group) === key;
  };
  return readRecord(key, value, { what: 'the record of this group', is });
}

export function endedGroup({ topic, group, ended }: GroupRecord, { key, version }: Precondition): EndedGroup {
  return { topic, group, heir: ended?.heir, entry: { key, version } };
}
