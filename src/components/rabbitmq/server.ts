import { type Duration, msOf } from '../../util/duration.ts';
import type { WrongOption } from '../../util/option-fields.ts';
import { hostOf, serverUrl } from '../broker/server-url.ts';
import type { AmqpModule, AmqpTarget } from './driver.ts';

/** How long a connection may take to be made. */
const CONNECT_LIMIT_MS = 5_000;
const PORTS = { amqp: 5672, amqps: 5671 } as const;

/** The options that say where the server is and how to log in. */
export interface ServerOptions {
  readonly url?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: object | undefined;
  readonly saslExternal?: boolean | undefined;
  readonly heartbeat?: Duration | undefined;
}

/** A server. */
export interface RabbitServer {
  /** For messages: without credentials. */
  readonly name: string;
  readonly target: AmqpTarget;
  /** The options of the driver's socket. */
  readonly socket: (amqp: AmqpModule, connectionName: string) => object;
}

/** @throws SidecarError `ERR_CONFIGURATION` */
export function serverOf(options: ServerOptions, wrong: WrongOption<ServerOptions>): RabbitServer {
  const url = serverUrl(options.url ?? 'amqp://localhost', ['amqp:', 'amqps:']);
  if (url === undefined || /^\/[^/]*\/./.test(url.pathname))
    throw wrong('url', 'one like "amqp://user:password@host:5672/vhost"');
  const protocol = url.protocol === 'amqps:' ? 'amqps' : 'amqp';
  const { tls, saslExternal = false, heartbeat = 10_000 } = options;
  if (protocol === 'amqp' && (tls !== undefined || saslExternal))
    throw wrong(tls === undefined ? 'saslExternal' : 'tls', 'a url with it that begins with amqps://');
  const hostname = hostOf(url) || 'localhost';
  const port = Number(url.port || PORTS[protocol]);
  const vhost = decodeURIComponent(url.pathname.slice(1)) || '/';
  const place = `${url.hostname || 'localhost'}:${port}${vhost === '/' ? '' : `/${vhost}`}`;
  const isAnonymous = url.username === '' && url.password === '';
  return {
    name: `RabbitMQ at ${place}`,
    target: {
      ...{ protocol, hostname, port },
      username: options.username ?? (isAnonymous ? 'guest' : decodeURIComponent(url.username)),
      password: options.password ?? (isAnonymous ? 'guest' : decodeURIComponent(url.password)),
      // The driver decodes it once more.
      vhost: encodeURIComponent(vhost),
      heartbeat: Math.ceil(msOf(heartbeat) / 1_000),
    },
    socket: (amqp, connectionName) => ({
      noDelay: true,
      keepAlive: true,
      timeout: CONNECT_LIMIT_MS,
      clientProperties: { connection_name: connectionName },
      ...tls,
      ...(saslExternal ? { credentials: amqp.credentials.external() } : undefined),
    }),
  };
}
