import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { SESSION_PATH } from '../../src/blocks/workflow/forwarding/remote-host.ts';
import { readHosts, ShardLayout } from '../../src/cluster/hosts.ts';
import { shardOf } from '../../src/cluster/shards.ts';
import { request } from '../../src/http/message.ts';
import { defineActivity, defineWorkflow, type IdentityOptions, nodeHandler } from '../../src/index.ts';
import type { HeaderMap } from '../../src/kit/index.ts';
import { makeIdentity } from '../../src/security/identity.ts';
import { virtualClock } from '../../src/testing/index.ts';
import { Fleet, type Member, type MemberOptions } from './fleet.ts';
import { type Listening, listen } from './http.ts';

export const SECRET = 'a shared secret of more than 32 bytes';
export const IDENTITY: IdentityOptions = { keys: [{ secret: SECRET }] };

/**
 * What becomes of a line that another host sends. Its connection breaks before it is handled (`cut`) or instead of the
 * reply with its outcomes (`lost`).
 */
export type Fate = 'handled' | 'cut' | 'lost';

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
  /** The paths of the requests that came here: each is a session. */
  readonly requests: string[] = [];
  /** The lines that came here, without empty ones. */
  readonly lines: string[] = [];
  /** How many empty lines came here. */
  beats = 0;
  /** The connections of the sessions. */
  readonly sockets: Socket[] = [];
  /** Decides about each line with calls. */
  fateOf: (line: string) => Fate = () => 'handled';
  /** While true, nothing comes or goes, while the connections stay. */
  isSilent = false;

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
    return new ApartHost(member, server, nodeHandler(at === 'api' ? member.sidecar : member.sidecar.peers));
  }

  get workflows(): Member['sidecar']['workflows'] {
    return this.member.sidecar.workflows;
  }

  #take(req: IncomingMessage, res: ServerResponse): void {
    this.requests.push(req.url ?? '');
    this.sockets.push(req.socket);
    const [push, write] = [req.push.bind(req), res.write.bind(res)];
    let fate: Fate = 'handled';
    let rest = '';
    req.push = (chunk: unknown) => {
      if (chunk === null) return push(null);
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') this.beats++;
        else this.lines.push(line);
        if (fate === 'handled' && line.includes('"calls":[{')) fate = this.fateOf(line);
        if (fate === 'cut') req.socket.destroy();
        if (!this.isSilent && (fate === 'handled' || fate === 'lost')) push(`${line}\n`);
      }
      return true;
    };
    res.write = (chunk: unknown) => {
      if (this.isSilent) return true;
      if (fate !== 'lost' || !String(chunk).includes('"outcomes"')) return write(chunk);
      req.socket.destroy();
      return true;
    };
    this.#listener(req, res);
  }

  /**
   * Sends lines in a session of their own, until so many lines have come back. Rejects if the session breaks before.
   */
  async exchange(
    headers: HeaderMap,
    lines: readonly string[],
    replies: number,
  ): Promise<{ status: number; replies: string[] }> {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const line of lines) yield Buffer.from(`${line}\n`);
      await over;
    }
    const { status, body: answer } = await this.member.sidecar.peers.handle(
      request('POST', SESSION_PATH, { headers, body: body() }),
    );
    let text = '';
    const come = (): string[] => text.split('\n').filter((line) => line !== '');
    try {
      for await (const chunk of answer instanceof Uint8Array ? [] : answer) {
        text += String(Buffer.from(chunk));
        if (come().length >= replies) break;
      }
    } finally {
      end();
    }
    return { status, replies: come() };
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

/** How often each instance has begun its first activity. */
export type Begun = Map<string, number>;

/** Registers a workflow that collects what it is told. */
export function register({ workflows }: ApartHost, begun: Begun = new Map()): void {
  const begin = defineActivity('begin', (_input, { instanceId }) => {
    begun.set(instanceId, (begun.get(instanceId) ?? 0) + 1);
  });
  // Everything that it was told until the end, in the order in which it came.
  const collect = defineWorkflow('collect', async (ctx, first: string) => {
    await ctx.callActivity(begin);
    const told = [first];
    for (;;) {
      const one = await ctx.waitForEvent<string>('tell');
      if (one === 'end') return told.join(',');
      told.push(one);
    }
  });
  workflows.register(begin, collect);
}

/** Two hosts that have divided the shards, with that workflow. */
export async function twoOf(
  fleet: ApartFleet,
  options: ApartOptions = {},
  begun?: Begun,
): Promise<[ApartHost, ApartHost]> {
  const hosts: [ApartHost, ApartHost] = [await fleet.join(options), await fleet.join(options)];
  for (const host of hosts) register(host, begun);
  await fleet.fleet.pass(8);
  return hosts;
}

/** How many lines with calls, or with waits, came to a host. */
export const callsTo = ({ lines }: ApartHost): number => lines.filter((line) => line.includes('"calls":[{')).length;
export const waitsTo = ({ lines }: ApartHost): number => lines.filter((line) => line.includes('"waits":[{')).length;

/** A line with calls and waits. */
export const lineOf = (calls: readonly unknown[], waits: readonly unknown[] = []): string =>
  JSON.stringify({ calls, answered: [], waits, left: [] });

/** The application of the hosts. */
export const OWN = { appId: 'shop', namespace: 'default' };
/** What a host shows to another one. */
export const tokenFor = (
  options: IdentityOptions,
  caller = OWN,
  audience = OWN,
  at = Date.parse('2026-01-01T00:00:08Z'),
): Promise<string> =>
  makeIdentity(options, {
    ...caller,
    clock: virtualClock({ startAt: at }),
    newId: () => 'id',
  }).sign(audience);
