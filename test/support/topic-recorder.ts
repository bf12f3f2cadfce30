import type { SubscribeOptions } from '../../src/index.ts';
import type { Member } from './fleet.ts';

/** A message that a member got. */
export interface Got {
  readonly at: Member;
  readonly key: string;
  readonly number: number;
}

/** The messages of a topic, in the order in which the members got them. */
export class Recorder {
  readonly got: Got[] = [];
  /** What happens with each; by default it is done. */
  onMessage: (got: Got) => unknown = () => undefined;
  #sent = 0;

  async subscribe(at: Member, options: SubscribeOptions = {}): Promise<() => Promise<void>> {
    const take = async ({ data }: { data?: Omit<Got, 'at'> }): Promise<void> => {
      const got = { at, key: data?.key ?? '', number: data?.number ?? -1 };
      this.got.push(got);
      await this.onMessage(got);
    };
    const subscription = await at.sidecar.pubsub.subscribe<Omit<Got, 'at'>>('pubsub', 'orders', take, options);
    return () => subscription.close();
  }

  async publish(at: Member, count: number, keys?: readonly string[]): Promise<void> {
    for (let index = 0; index < count; index++) {
      const number = this.#sent++;
      const key = keys?.[number % keys.length];
      await at.sidecar.pubsub.publish('pubsub', 'orders', { key, number }, key === undefined ? {} : { key });
    }
  }

  countAt(member: Member): number {
    return this.got.filter(({ at }) => at === member).length;
  }

  get numbers(): number[] {
    return this.got.map(({ number }) => number).sort((one, other) => one - other);
  }

  get sent(): number[] {
    return Array.from({ length: this.#sent }, (_, number) => number);
  }

  /** The keys whose messages did not come in order. */
  get unordered(): string[] {
    const last = new Map<string, number>();
    return this.got.flatMap(({ key, number }) => {
      const before = last.get(key) ?? -1;
      last.set(key, number);
      return number < before ? [`${key}: ${number} after ${before}`] : [];
    });
  }
}
