import type { Server } from 'node:http';
import { type NodeHandler, nodeHandler } from '../adapters/node.ts';
import { accepts } from '../app/http-channel.ts';
import { SECRET_VARIABLE } from '../security/identity-options.ts';
import { Sidecar } from '../sidecar/sidecar.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { TOKEN_VARIABLE } from './inspector/token.ts';
import { inWordsOfCommand } from './option-names.ts';
import type { Command, CommandOptions, Ending } from './process/command.ts';
import { byWhom, closeServer, listenOnAll } from './process/listening.ts';
import type { RunApp, RunInspector } from './runs/run-files.ts';
import { type AppSettings, given } from './settings.ts';
import { type HostedSidecar, sidecarOptions } from './sidecar-options.ts';

type Shared = 'run' | 'state' | 'components' | 'identity' | 'resources' | 'telemetry';

/** Dependencies shared by the applications of a run. */
export interface SessionDeps extends Pick<HostedSidecar, Shared> {
  readonly clock: Clock;
  readonly environment: NodeJS.ProcessEnv;
  readonly process: Pick<CommandOptions, 'stdout' | 'stderr' | 'guard'>;
  /** The prefix of each line of an application's output. */
  readonly prefix: (appId: string) => CommandOptions['prefix'];
  readonly takesInput: boolean;
  /** Opens the inspector of the applications, which have their ports. */
  readonly openInspector?: (apps: readonly HostedApp[]) => Promise<OpenInspector>;
  /** Tells other commands of the run. */
  readonly register?: (apps: readonly HostedApp[], inspector: RunInspector | undefined) => Registered;
}

/** The inspector of a run. */
export interface OpenInspector extends AsyncDisposable {
  readonly access: RunInspector;
}

/** What other commands know of a run, until it is disposed of. */
export interface Registered extends Disposable {
  /** Something has changed. */
  readonly update: () => void;
  /** The run is about to end. */
  readonly ending: () => void;
}

/** Variables of a sidecar that may run this command as its application, and our own secrets. */
const NOT_INHERITED = [
  ...['DAPR_GRPC_PORT', 'DAPR_METRICS_PORT', 'DAPR_PROFILE_PORT', 'DAPR_PORT'],
  ...[SECRET_VARIABLE, TOKEN_VARIABLE],
];

/** One application of a run: its sidecar with its HTTP API, and its command. */
export class HostedApp {
  readonly appId: string;
  readonly sidecar: Sidecar;
  readonly url: string;
  readonly #settings: AppSettings;
  readonly #deps: SessionDeps;
  readonly #logger: Logger;
  readonly #servers: readonly Server[];
  /** That of its HTTP API. */
  readonly port: number;
  #command: Command | undefined;

  private constructor(
    app: { settings: AppSettings; logger: Logger; sidecar: Sidecar },
    api: { servers: readonly Server[]; port: number; url: string },
    deps: SessionDeps,
  ) {
    this.appId = app.settings.appId;
    this.sidecar = app.sidecar;
    this.url = api.url;
    this.#settings = app.settings;
    this.#logger = app.logger;
    this.#servers = api.servers;
    this.port = api.port;
    this.#deps = deps;
  }

  /** Opens the port and makes the sidecar. @throws Failure or SidecarError if that fails. */
  static async open(settings: AppSettings, logger: Logger, deps: SessionDeps): Promise<HostedApp> {
    const { run } = deps;
    let listener: NodeHandler = (_req, res) => void res.writeHead(503, { 'retry-after': '1' }).end();
    const { servers, port } = await listenOnAll(run.listenAddresses, {
      port: settings.httpPort ?? 0,
      listener: (req, res) => listener(req, res),
      ...(settings.headLimitBytes === undefined ? {} : { headLimitBytes: settings.headLimitBytes }),
      onLeftOut: (message) => logger.warn({}, `${message}: it is left out`),
      chosenBy:
        settings.mayMove || settings.command.length === 0 ? '--http-port' : '--http-port (daprHTTPPort in a file)',
      ...(settings.mayMove ? { onMoved: (message: string) => logger.warn({}, `${message}: taking a free one`) } : {}),
    });
    const [host = ''] = run.listenAddresses;
    const url = `http://${urlHost(host)}:${port}`;
    const address = run.advertisedHost === undefined ? url : `http://${urlHost(run.advertisedHost)}:${port}`;
    try {
      const sidecar = new Sidecar(sidecarOptions(settings, { ...deps, logger, address }));
      listener = nodeHandler(sidecar);
      return new HostedApp({ settings, logger, sidecar }, { servers, port, url }, deps);
    } catch (error) {
      for (const server of servers) server.close();
      throw inWordsOfCommand(error, settings);
    }
  }

  async startSidecar(): Promise<void> {
    const { appPort, appHost, command } = this.#settings;
    const app = appPort === undefined ? {} : { application: `${appHost ?? '127.0.0.1'}:${appPort}` };
    if (appPort !== undefined && command.length > 0 && (await accepts(appPort, appHost)))
      this.#logger.warn(
        {},
        `port ${appPort} is taken${byWhom(appPort)} before the application has started: requests go there`,
      );
    this.#tell();
    await this.sidecar.start().catch((error: unknown) => {
      throw inWordsOfCommand(error, this.#settings);
    });
    this.#logger.info(app, `sidecar at ${this.url}`);
  }

  /** Starts the command, if there is one. All sidecars must be running, because it may call them. */
  async startCommand(): Promise<void> {
    const { command } = this.#settings;
    if (command.length > 0) await this.#start(command);
  }

  async #start(command: readonly string[]): Promise<void> {
    const { directory } = this.#settings;
    const { process: output, prefix, clock, takesInput } = this.#deps;
    // Loaded on demand: a run without a command starts no process.
    const { Command: Started } = await import('./process/command.ts');
    this.#command = await Started.start({
      ...output,
      command,
      directory,
      clock,
      takesInput,
      environment: this.#environment(),
      prefix: prefix(this.appId),
    });
    const { pid } = this.#command;
    this.#logger.info({ pid }, `started ${command.join(' ')}`);
    // `dapr run` also records these.
    const told = { appCommand: command.join(' '), appPID: String(pid), cliPID: String(globalThis.process.pid) };
    for (const [name, value] of Object.entries(told)) this.sidecar.metadata.set(name, value);
  }

  #environment(): NodeJS.ProcessEnv {
    const { appId, appPort, appProtocol, environment } = this.#settings;
    const inherited = { ...this.#deps.environment };
    for (const name of NOT_INHERITED) delete inherited[name];
    return {
      ...inherited,
      ...environment,
      APP_ID: appId,
      APP_PROTOCOL: appProtocol,
      ...(appPort === undefined ? {} : { APP_PORT: String(appPort) }),
      DAPR_HTTP_PORT: String(this.port),
      SIDECAR_HTTP_PORT: String(this.port),
    };
  }

  /** Logs events of the sidecar. */
  #tell(): void {
    const { events } = this.sidecar;
    const { appPort } = this.#settings;
    events.on('appReady', () => this.#logger.info({}, `the application is ready on port ${appPort}`));
    events.on('subscriptionStarted', (told) => this.#logger.info(told, 'subscribed'));
    for (const name of [
      'messagePublished',
      'messageDelivered',
      'messageRetrying',
      'jobStarted',
      'jobCompleted',
    ] as const)
      events.on(name, (...[told]) => this.#logger.debug(told, name));
  }

  /** Resolves when the command has ended; never without a command. */
  get ended(): Promise<Ending> {
    return this.#command?.ended ?? new Promise(() => undefined);
  }

  /** What other commands are told of it. */
  get told(): RunApp {
    const { appId, port: httpPort, url } = this;
    const { appPort, command } = this.#settings;
    const text = command.length === 0 ? undefined : command.join(' ');
    const app = { ...given('appPort', appPort), ...given('command', text), ...given('appPid', this.#command?.pid) };
    return { appId, httpPort, url, ...app };
  }

  get hasCommand(): boolean {
    return this.#command !== undefined;
  }

  signal(name: NodeJS.Signals): void {
    this.#command?.signal(name);
  }

  /** Resolves when the requests in progress have been answered, or after `patienceMs`. */
  async answered(gracePeriodMs: number): Promise<void> {
    const { answers } = this.sidecar;
    if (answers.underWay > 0) this.#logger.info({ requests: answers.underWay }, 'waiting for answers in flight');
    await answers.ended(this.#deps.clock, gracePeriodMs);
  }

  /** Stops the sidecar after its command has ended. */
  async close(): Promise<void> {
    try {
      await this.sidecar.stop();
    } finally {
      await Promise.all(this.#servers.map((server) => closeServer(server, this.#deps.clock)));
    }
  }
}

/** The address in a URL; the unspecified address becomes the loopback address. */
function urlHost(address: string): string {
  if (address === '0.0.0.0' || address === '::') return '127.0.0.1';
  return address.includes(':') ? `[${address}]` : address;
}
