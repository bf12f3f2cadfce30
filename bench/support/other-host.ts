import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readHosts, ShardLayout } from '../../src/cluster/hosts.ts';
import { shardOf } from '../../src/cluster/shards.ts';
import type { Sidecar } from '../../src/index.ts';
import type { StateStore } from '../../src/kit/index.ts';
import { systemClock } from '../../src/util/clock.ts';
import type { Insidecar } from './built.ts';
import { FarStore } from './far-store.ts';

/** So long until two hosts have divided the shards, and know of it. */
const HAND_OVER_MS = 7_000;
const APP_ID = 'bench';

/** Two hosts of one application as if each were in a process of its own, which reach each other over HTTP. */
export class TwoHosts {
  readonly store: FarStore;
  readonly #sidecars: Sidecar[] = [];
  readonly #servers: ReturnType<typeof createServer>[] = [];
  readonly #addresses: string[] = [];
  readonly #built: Insidecar;
  readonly #memory: StateStore;
  #isTheirs: (id: string) => boolean = () => false;

  private constructor(built: Insidecar, memory: StateStore, roundTripMs: number) {
    this.#built = built;
    this.#memory = memory;
    this.store = new FarStore({ type: 'memory', open: () => Promise.resolve(memory) }, roundTripMs, {
      isShareable: true,
    });
  }

  /** @param isForwarded - whether they have an identity: without one their work for each other goes through the store. */
  static async open(
    built: Insidecar,
    { roundTripMs, isForwarded }: { readonly roundTripMs: number; readonly isForwarded: boolean },
  ): Promise<TwoHosts> {
    const memory = await built
      .memoryState()
      .open({ clock: systemClock, logger: { debug() {}, info() {}, warn() {}, error() {} } });
    const hosts = new TwoHosts(built, memory, roundTripMs);
    for (let index = 0; index < 2; index++) await hosts.#join(isForwarded);
    await sleep(HAND_OVER_MS);
    await hosts.#look();
    return hosts;
  }

  async #join(isForwarded: boolean): Promise<void> {
    const server = createServer((req, res) => listener(req, res));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#addresses.push(address);
    const sidecar = new this.#built.Sidecar({
      appId: APP_ID,
      state: this.store.definition,
      address,
      ...(isForwarded ? { identity: { keys: [{ secret: 'a shared secret of more than 32 bytes' }] } } : {}),
    });
    const listener = this.#built.nodeHandler(sidecar.peers);
    await sidecar.start();
    this.#sidecars.push(sidecar);
    this.#servers.push(server);
  }

  /** Which shards the second host owns. */
  async #look(): Promise<void> {
    const layout = new ShardLayout(APP_ID);
    const { hosts } = await readHosts(this.#memory);
    const second = hosts.find(({ address }) => address === this.#addresses[1])?.id;
    const owners = (await this.#memory.scan(layout.range)).map((entry) => layout.ownerOf(entry));
    const shards = new Set(owners.flatMap(({ shard, owner }) => (owner === second ? [shard] : [])));
    if (shards.size === 0) throw new Error('the second host has no shards');
    this.#isTheirs = (id) => shards.has(shardOf(id));
  }

  get sidecars(): readonly Sidecar[] {
    return this.#sidecars;
  }

  /** An ID that belongs to the second host. */
  theirId(index: number): string {
    for (let salt = 0; ; salt++) if (this.#isTheirs(`id-${index}-${salt}`)) return `id-${index}-${salt}`;
  }

  async close(): Promise<void> {
    for (const sidecar of this.#sidecars) await sidecar.stop();
    for (const server of this.#servers) server.close();
    for (const server of this.#servers) server.closeAllConnections();
    await this.#memory.close();
  }
}
