import { randomBytes } from 'node:crypto';
import { nodeHandler } from '../../adapters/node.ts';
import { inspect } from '../../inspector/index.ts';
import type { Clock } from '../../util/clock.ts';
import type { Logger } from '../../util/logger.ts';
import type { HostedApp, OpenInspector } from '../hosted-app.ts';
import type { Output } from '../output.ts';
import { closeServer, listenOn } from '../process/listening.ts';
import type { InspectorSettings } from '../settings.ts';
import { TOKEN_VARIABLE } from './token.ts';

/** Not one of Dapr's. */
const DEFAULT_PORT = 4600;
/** Only this machine: the token allows everything. */
const HOST = '127.0.0.1';
const TOKEN_BYTES = 24;

/** The dependencies of {@link openRunInspector}. */
export interface RunInspectorDeps {
  readonly settings: InspectorSettings;
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly stdout: Output;
  readonly logger: Logger;
}

/** Serves one inspector for all applications of a run. */
export async function openRunInspector(
  apps: readonly HostedApp[],
  { settings, environment, clock, stdout, logger }: RunInspectorDeps,
): Promise<OpenInspector> {
  const own = settings.token ?? (environment[TOKEN_VARIABLE] || undefined);
  const token = own ?? randomBytes(TOKEN_BYTES).toString('base64url');
  const inspector = inspect(
    apps.map(({ sidecar }) => sidecar),
    { token, record: 'always' },
  );
  const { port, server } = await listenOn({
    host: HOST,
    port: settings.port ?? DEFAULT_PORT,
    listener: nodeHandler(inspector),
    chosenBy: '--inspect=PORT',
    ...(settings.port === undefined && {
      onMoved: (message: string) => logger.warn({}, `${message}: the inspector takes a free one`),
    }),
  });
  const url = `http://${HOST}:${port}/`;
  // A token that the user has chosen is known, and does not belong into the output.
  stdout.write(`Inspector: ${url}${own === undefined ? `?token=${token}` : ''}\n`);
  return {
    access: { url, token },
    [Symbol.asyncDispose]: async () => {
      await inspector.close();
      await closeServer(server, clock);
    },
  };
}
