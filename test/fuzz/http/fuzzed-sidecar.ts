import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedState } from '../../../src/components/embedded/index.ts';
import { request } from '../../../src/http/message.ts';
import {
  durablePubSub,
  memoryPubSub,
  nodeHandler,
  Sidecar,
  type SidecarOptions,
  type WireName,
} from '../../../src/index.ts';
import { type Listening, listen } from '../../support/http.ts';
import { type LogTally, TallyLogger } from '../log-tally.ts';
import { FuzzedApp } from './app.ts';

/** What a fuzzed sidecar is made of. */
export interface Kind {
  readonly wire: WireName;
  readonly store: 'memory' | 'embedded';
}

/** All kinds, in the order in which they take turns. */
export const KINDS: readonly Kind[] = [
  { wire: 'sidecar', store: 'memory' },
  { wire: 'dapr', store: 'embedded' },
  { wire: 'dapr', store: 'memory' },
  { wire: 'sidecar', store: 'embedded' },
];

const PATIENCE_MS = 10_000;

/** Servers that stay while sidecars come and go. */
interface Around {
  readonly app: FuzzedApp;
  readonly appServer: Listening;
  readonly upstream: Listening;
  readonly directory: string | undefined;
}

/** A sidecar behind a real server, with an application on a port (or in this process) and a service to call by URL. */
export class FuzzedSidecar implements AsyncDisposable {
  readonly kind: Kind;
  readonly app: FuzzedApp;
  readonly logger = new TallyLogger();
  /** A request has asked the sidecar to stop. */
  isShuttingDown = false;
  /** How long the slowest answer took. */
  slowestMs = 0;
  sidecar: Sidecar;
  readonly server: Listening;
  readonly #around: Around;
  #sounds = 0;

  private constructor(kind: Kind, around: Around, server: Listening) {
    this.kind = kind;
    this.app = around.app;
    this.server = server;
    this.#around = around;
    this.sidecar = this.#make();
    server.use((req, res) => nodeHandler(this.sidecar)(req, res));
  }

  static async open(kind: Kind): Promise<FuzzedSidecar> {
    const app = new FuzzedApp(kind.wire);
    const directory = kind.store === 'memory' ? undefined : await mkdtemp(join(tmpdir(), 'insidecar-fuzz-'));
    const upstream = await listen(
      (req, res) => void req.resume().once('end', () => res.setHeader('x-from-app', '1').end('up')),
    );
    const around = { app, appServer: await listen(app.listener), upstream, directory };
    const fuzzed = new FuzzedSidecar(kind, around, await listen());
    await fuzzed.#start();
    return fuzzed;
  }

  get log(): LogTally {
    return this.logger.tally;
  }

  /** The address of the service that is called by URL. */
  get upstream(): string {
    return this.#around.upstream.url;
  }

  #make(): Sidecar {
    const { wire } = this.kind;
    const { appServer, upstream, directory } = this.#around;
    const inProcess = wire === 'dapr';
    const options: SidecarOptions = {
      appId: 'shop',
      wire,
      app: inProcess ? { listener: this.app.listener } : { port: appServer.port },
      components: [
        directory === undefined ? memoryPubSub('pubsub', { maxMessages: 20_000 }) : durablePubSub('pubsub'),
        memoryPubSub('guarded', { allowedTopics: ['orders'], protectedTopics: ['secret'] }),
      ],
      httpEndpoints: [{ name: 'backend', baseUrl: upstream.url }],
      dapr: { placement: { enabled: true } },
      // Without keys a sidecar believes what another one claims to be; with them nobody can claim to be another.
      identity: { keys: [{ secret: 'of-nobody-else-at-least-32-bytes-long' }] },
      deliveryTimeout: 2_000,
      stopTimeout: 3_000,
      logger: this.logger,
      ...(directory === undefined ? {} : { state: embeddedState({ path: directory }) }),
    };
    const sidecar = new Sidecar(options);
    sidecar.events.on('shutdownRequested', () => {
      this.isShuttingDown = true;
    });
    registerWorkflows(sidecar);
    return sidecar;
  }

  async #start(): Promise<void> {
    await this.sidecar.start();
    await this.sidecar.ready();
    this.isShuttingDown = false;
  }

  /** Brings the sidecar back after a request that stopped it, and removes what the requests have left. */
  async tidyUp(): Promise<void> {
    if (this.isShuttingDown) {
      await this.sidecar.stop();
      this.sidecar = this.#make();
      await this.#start();
    }
    const { jobs, workflows } = this.sidecar;
    for (let page = await jobs.listPage(); page.jobs.length > 0; page = await jobs.listPage())
      await Promise.all(page.jobs.map(({ name }) => jobs.delete(name)));
    await workflows.terminateAll({ prefix: '' });
    await workflows.purgeAll({ prefix: '' });
  }

  /** A publish of a sound message; resolves when it has been delivered, throws when it is not. */
  async publishSound(): Promise<void> {
    const id = `sound-${++this.#sounds}`;
    const sent = await this.sidecar.handle(request('POST', '/v1.0/publish/pubsub/sound', { body: id }));
    if (sent.status !== 204) throw new Error(`a sound publish was answered with ${sent.status}`);
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.app.hasSound(id)) {
      if (performance.now() > deadline) throw new Error(`a sound message was not delivered in ${PATIENCE_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const health = await this.sidecar.handle(request('GET', '/v1.0/healthz'));
    if (health.status !== 204) throw new Error(`healthz was answered with ${health.status}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { appServer, upstream, directory } = this.#around;
    await this.sidecar.stop();
    await this.server[Symbol.asyncDispose]();
    await Promise.all([appServer, upstream].map((one) => one[Symbol.asyncDispose]()));
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }
}

function registerWorkflows({ workflows }: Sidecar): void {
  workflows.registerActivity('echo', (input) => input);
  workflows.registerActivity('fail', () => {
    throw new Error('it fails');
  });
  workflows.register('echo', (context, input) => context.callActivity('echo', input));
  workflows.register('fail', (context) => context.callActivity('fail'));
  workflows.register('wait', (context) => context.waitForEvent('go', { timeout: 60_000 }));
  workflows.register('parent', (context, input) => context.callChild('echo', input));
}
