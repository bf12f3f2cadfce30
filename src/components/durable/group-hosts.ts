import type { ShardHosts } from '../../cluster/shards.ts';

/** A host that has consumers of a group. */
export interface GroupMember {
  /** Whether one host has to hand out all messages, as far as its consumers ask for it. */
  readonly isTogether: boolean;
  /** The key of its entry. */
  readonly key: string;
}

/** What other hosts want of a group, as it was last read. */
export class GroupHosts {
  readonly #hosts: ShardHosts | undefined;
  #members: ReadonlyMap<string, GroupMember> = new Map();
  #collector: string | undefined;

  constructor(hosts: ShardHosts | undefined) {
    this.#hosts = hosts;
  }

  note(members: ReadonlyMap<string, GroupMember>, collector: string | undefined): void {
    this.#members = members;
    this.#collector = collector;
  }

  /** A host has said that it has consumers. */
  add(hostId: string, member: GroupMember): void {
    this.#members = new Map(this.#members).set(hostId, member);
  }

  /** A host has said that it has none. */
  delete(hostId: string): void {
    const members = new Map(this.#members);
    members.delete(hostId);
    this.#members = members;
  }

  /** The entry of a host that has consumers. */
  of(hostId: string): GroupMember | undefined {
    return this.#members.get(hostId);
  }

  /** The live hosts with consumers. */
  get live(): readonly string[] {
    return [...this.#members.keys()].filter((id) => this.#hosts?.isLive(id) === true);
  }

  /** Whether another live host has consumers. */
  get hasOthers(): boolean {
    return this.live.some((id) => id !== this.#hosts?.id);
  }

  /** Whether one host has to hand out all messages. */
  get areTogether(): boolean {
    return this.live.some((id) => this.#members.get(id)?.isTogether === true);
  }

  /** Hosts with entries that are not there any more. */
  get gone(): readonly string[] {
    return [...this.#members.keys()].filter((id) => this.#hosts?.isLive(id) === false);
  }

  /** The live host that needs all partitions. */
  get collector(): string | undefined {
    const id = this.#collector;
    return id !== undefined && this.#hosts?.isLive(id) === true ? id : undefined;
  }

  /** A host that needed all partitions and is gone. */
  get goneCollector(): string | undefined {
    return this.collector === undefined ? this.#collector : undefined;
  }

  /** No host needs all partitions any more. */
  collected(): void {
    this.#collector = undefined;
  }
}
