import { postgresqlState } from '../../src/components/postgresql/index.ts';
import { redisState } from '../../src/components/redis/index.ts';
import { defineJob, type JobContext, memoryPubSub, Sidecar } from '../../src/index.ts';
import { RecordingLogger } from './logger.ts';
import { hasPostgresql, hasRedis, type OwnServer, startPostgresql, startRedis } from './servers.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** A server that hosts have their state on. */
export interface HostedOn {
  readonly name: 'PostgreSQL' | 'Redis';
  readonly isThere: () => boolean;
}

export const SERVERS: readonly HostedOn[] = [
  { name: 'PostgreSQL', isThere: hasPostgresql },
  { name: 'Redis', isThere: hasRedis },
];

/** A run of a job. */
export interface HostedRun {
  readonly host: string;
  readonly name: string;
  readonly dueAt: number;
  /** By `performance.now()`. */
  readonly begunAt: number;
}

/** Options of a host. */
export interface ProxiedHostOptions {
  /** Whether it has a function for the jobs. Default: it has. */
  readonly runsJobs?: boolean;
  /** Default 10 s. */
  readonly stopTimeout?: number;
  /** Which instants of a job run that were missed. Default: one for all. */
  readonly missedTicks?: 'all';
}

/** A host that reaches its state by a proxy of its own, which can be slow, silent or broken. */
export class ProxiedHost {
  readonly name: string;
  readonly proxy: TcpProxy;
  readonly sidecar: Sidecar;
  readonly logger = new RecordingLogger();
  /** The jobs whose runs were recorded here. */
  readonly recorded: string[] = [];
  onRun: (run: JobContext) => unknown = () => undefined;
  readonly #held: (() => void)[] = [];
  #stopped: Promise<void> | undefined;

  constructor(
    name: string,
    proxy: TcpProxy,
    state: (port: number) => ReturnType<typeof redisState>,
    runs: HostedRun[],
    { runsJobs = true, stopTimeout, missedTicks }: ProxiedHostOptions,
  ) {
    this.name = name;
    this.proxy = proxy;
    this.sidecar = new Sidecar({
      ...{ appId: 'shop', state: state(proxy.port), logger: this.logger, stopTimeout },
      ...{ components: [memoryPubSub('own')], jobs: { missedTicks } },
    });
    this.sidecar.events.on('jobCompleted', ({ jobName }) => this.recorded.push(jobName));
    if (!runsJobs) return;
    this.sidecar.register(
      defineJob('*', (_, run) => {
        runs.push({ host: name, name: run.name, dueAt: run.dueAt, begunAt: performance.now() });
        return this.onRun(run);
      }),
    );
  }

  /** A message in flight, which a stop waits for; {@link ProxiedHost.letGo} ends it. */
  async hold(): Promise<void> {
    let come = (): void => undefined;
    const isHere = new Promise<void>((resolve) => {
      come = resolve;
    });
    await this.sidecar.pubsub.subscribe('own', 'held', () => {
      come();
      return new Promise<void>((end) => this.#held.push(end));
    });
    await this.sidecar.pubsub.publish('own', 'held', 'a message');
    await isHere;
  }

  letGo(): void {
    for (const end of this.#held.splice(0)) end();
  }

  /** Nothing gets to the server or back: without a word, or with a connection that is refused. */
  cutOff(how: 'silent' | 'refused'): void {
    this.proxy.isBlackHole = how === 'silent';
    if (how === 'refused') this.proxy.target = 1;
    this.proxy.cut();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.sidecar.stop();
    return this.#stopped;
  }
}

/** Hosts of one application on a server of their own. */
export class ProxiedHosts implements AsyncDisposable {
  readonly runs: HostedRun[] = [];
  readonly #hosts: ProxiedHost[] = [];
  readonly #server: OwnServer;
  readonly #kind: HostedOn;

  private constructor(kind: HostedOn, server: OwnServer) {
    this.#kind = kind;
    this.#server = server;
  }

  static async start(kind: HostedOn): Promise<ProxiedHosts> {
    return new ProxiedHosts(kind, await (kind.name === 'Redis' ? startRedis() : startPostgresql()));
  }

  async join(name: string, options: ProxiedHostOptions = {}): Promise<ProxiedHost> {
    const proxy = await TcpProxy.start(this.#server.port);
    const stateAt = (port: number): ReturnType<typeof redisState> =>
      this.#kind.name === 'Redis'
        ? redisState({ url: `redis://127.0.0.1:${port}` })
        : postgresqlState({ url: `postgres://postgres@127.0.0.1:${port}/postgres` });
    const host = new ProxiedHost(name, proxy, stateAt, this.runs, options);
    this.#hosts.push(host);
    await host.sidecar.start();
    return host;
  }

  /** The names of the jobs that have run at a host, sorted. */
  at(host: ProxiedHost): readonly string[] {
    return this.runs
      .filter((run) => run.host === host.name)
      .map(({ name }) => name)
      .sort();
  }

  /** Lets hosts reach the server again. */
  restore(host: ProxiedHost): void {
    host.proxy.isBlackHole = false;
    host.proxy.answersLeft = Number.POSITIVE_INFINITY;
    host.proxy.target = this.#server.port;
    host.proxy.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts) host.letGo();
    await Promise.all(this.#hosts.map((host) => host.stop()));
    for (const { proxy } of this.#hosts) await proxy[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }
}
