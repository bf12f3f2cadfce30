import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { readHosts, ShardLayout } from '../../src/cluster/hosts.ts';
import { shardOf } from '../../src/cluster/shards.ts';
import { type IdentityOptions, nodeListener } from '../../src/index.ts';
import { Fleet, type Member, type MemberOptions } from './fleet.ts';
import { type Listening, listen } from './http.ts';

export const SECRET = 'a shared secret of more than 32 bytes';
export const IDENTITY: IdentityOptions = { keys: [{ secret: SECRET }] };

/** What becomes of a request to a host: `lost` is its answer, after it has been handled. */
export type Fate = 'handled' | 'cut' | 'lost';

/** A request as it came. */
export interface KeptRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Options of a host apart. */
export interface ApartOptions extends MemberOptions {
  /** Its keys. */
  readonly keys?: IdentityOptions | 'none';
  /** What is at the address that it tells the others. */
  readonly at?: 'peers' | 'api' | 'nowhere';
}

/** A host as if it were in a process of its own, which others reach over HTTP. */
export class ApartHost implements AsyncDisposable {
  readonly member: Member;
  readonly server: Listening;
  readonly #listener: RequestListener;
  /** The paths of the requests that came here. */
  readonly requests: string[] = [];
  /** Decides about each request. */
  fateOf: (path: string) => Fate = () => 'handled';
  /** Gets the requests that are cut, whole. */
  keep: ((request: KeptRequest) => void) | undefined;

  private constructor(member: Member, server: Listening, listener: RequestListener) {
    this.member = member;
    this.server = server;
    this.#listener = listener;
    server.use((req, res) => this.#take(req, res));
  }

  static async join(fleet: Fleet, options: ApartOptions = {}): Promise<ApartHost> {
    const server = await listen();
    const { at = 'peers', keys = IDENTITY, ...others } = options;
    const member = await fleet.join({
      isApart: true,
      ...(keys === 'none' ? {} : { identity: keys }),
      ...(at === 'nowhere' ? {} : { address: server.url }),
      ...others,
    });
    return new ApartHost(member, server, nodeListener(at === 'api' ? member.sidecar : member.sidecar.peers));
  }

  get workflows(): Member['sidecar']['workflows'] {
    return this.member.sidecar.workflows;
  }

  #take(req: IncomingMessage, res: ServerResponse): void {
    this.requests.push(req.url ?? '');
    const fate = this.fateOf(req.url ?? '');
    if (fate === 'cut') return void this.#cut(req);
    if (fate === 'lost') {
      // What the sidecar answers goes nowhere: the caller's connection is gone.
      res.write = () => true;
      res.writeHead = () => res;
      res.end = () => {
        req.socket.destroy();
        return res;
      };
    }
    this.#listener(req, res);
  }

  async #cut(req: IncomingMessage): Promise<void> {
    const chunks: Uint8Array[] = [];
    if (this.keep !== undefined) for await (const chunk of req) chunks.push(chunk as Uint8Array);
    const headers = req.headers as Record<string, string>;
    this.keep?.({ path: req.url ?? '', headers, body: Buffer.concat(chunks).toString() });
    req.socket.destroy();
  }

  /** Those of some IDs that this host owns. */
  async owned(fleet: Fleet, ids: readonly string[]): Promise<string[]> {
    const layout = new ShardLayout('shop');
    const { hosts } = await readHosts(fleet.memory);
    const own = hosts.find(({ address }) => address === this.server.url)?.id;
    const entries = await fleet.memory.scan(layout.range);
    const shards = new Set(
      entries.flatMap((entry) => (layout.ownerOf(entry).owner === own ? [layout.ownerOf(entry).shard] : [])),
    );
    return ids.filter((id) => shards.has(shardOf(id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

/** Some hosts apart on one store, which have divided the shards. */
export class ApartFleet implements AsyncDisposable {
  readonly fleet = new Fleet();
  readonly hosts: ApartHost[] = [];

  async join(options: ApartOptions = {}): Promise<ApartHost> {
    const host = await ApartHost.join(this.fleet, options);
    this.hosts.push(host);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fleet[Symbol.asyncDispose]();
    for (const host of this.hosts) await host[Symbol.asyncDispose]();
  }
}
