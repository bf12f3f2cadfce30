import { CommunicationProtocolEnum, DaprClient, DaprServer } from '@dapr/dapr';
import { memoryPubSub, nodeHandler, Sidecar, type SidecarOptions } from '../../src/index.ts';
import type { PubSubDefinition } from '../../src/kit/index.ts';
import { freePort, type Listening, listen } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';

export interface SdkOptions extends Omit<SidecarOptions, 'app' | 'wire'> {
  /** Registers what the application listens to, before it starts. */
  readonly listens?: (server: DaprServer) => Promise<void>;
  /** Is done while the sidecar is there and its application is not. */
  readonly beforeServer?: (sidecar: Sidecar) => Promise<void>;
  /** The token that the client sends. */
  readonly clientToken?: string;
}

/** Real time passes here, and a machine may be slow. */
export const PATIENCE = { timeout: 15_000 };

/** Nothing of what the clients log belongs into the output of the tests. */
const silent = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  verbose: () => undefined,
  debug: () => undefined,
};

/** A sidecar that speaks Dapr's names, and Dapr's own client and server on both sides of it, over real sockets. */
export class SdkWorld implements AsyncDisposable {
  readonly sidecar: Sidecar;
  readonly client: DaprClient;
  readonly server: DaprServer;
  readonly http: Listening;
  readonly logger: RecordingLogger;

  constructor(parts: Pick<SdkWorld, 'sidecar' | 'client' | 'server' | 'http' | 'logger'>) {
    this.sidecar = parts.sidecar;
    this.client = parts.client;
    this.server = parts.server;
    this.http = parts.http;
    this.logger = parts.logger;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sidecar.stop();
    await this.server.stop();
    await this.client.stop();
    await this.http[Symbol.asyncDispose]();
  }
}

/** Starts sidecar, server and client, in the order that Dapr has: the sidecar is there first. */
export async function sdkWorld({ listens, beforeServer, clientToken, ...options }: SdkOptions = {}): Promise<SdkWorld> {
  const port = await freePort();
  const logger = new RecordingLogger();
  const components: readonly PubSubDefinition[] = [memoryPubSub('pubsub')];
  const sidecar = new Sidecar({
    appId: 'orders',
    wire: 'dapr',
    components,
    logger,
    ...options,
    app: { port, host: '127.0.0.1' },
  });
  const http = await listen(nodeHandler(sidecar));
  const clientOptions = {
    daprHost: '127.0.0.1',
    daprPort: String(http.port),
    communicationProtocol: CommunicationProtocolEnum.HTTP,
    logger: { service: silent },
    ...(clientToken === undefined ? {} : { daprApiToken: clientToken }),
  };
  const server = new DaprServer({
    serverHost: '127.0.0.1',
    serverPort: String(port),
    communicationProtocol: CommunicationProtocolEnum.HTTP,
    clientOptions,
    logger: { service: silent },
  });
  await listens?.(server);
  await sidecar.start();
  await beforeServer?.(sidecar);
  await server.start();
  await sidecar.ready();
  return new SdkWorld({ sidecar, server, client: new DaprClient(clientOptions), http, logger });
}
