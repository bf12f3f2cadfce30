import { SidecarError } from '../../errors.ts';
import type { AmqpModule, AmqpTarget } from './driver.ts';

/** How long a connection may take to be made. */
const CONNECT_LIMIT_MS = 5_000;
const PORTS = { amqp: 5672, amqps: 5671 } as const;

/** The options that say where the server is and how to log in. */
export interface ServerOptions {
  readonly url?: string;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
  readonly saslExternal?: boolean;
  readonly heartbeatMs?: number;
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
export function serverOf(options: ServerOptions): RabbitServer {
  const url = urlOf(options.url ?? 'amqp://localhost');
  const protocol = url.protocol === 'amqps:' ? 'amqps' : 'amqp';
  const { tls, saslExternal = false, heartbeatMs = 10_000 } = options;
  if (protocol === 'amqp' && (tls !== undefined || saslExternal))
    throw new SidecarError(
      'ERR_CONFIGURATION',
      'tls and saslExternal of rabbitmqPubSub need a url that begins with amqps://',
    );
  if (tls !== undefined && (typeof tls !== 'object' || tls === null))
    throw new SidecarError('ERR_CONFIGURATION', 'tls of rabbitmqPubSub must be an object with options of tls.connect');
  const hostname = url.hostname.replaceAll(/^\[|\]$/g, '') || 'localhost';
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
      heartbeat: Math.ceil(heartbeatMs / 1_000),
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

/** Messages do not show the URL, since it may hold a password. */
function urlOf(text: string): URL {
  let url: URL | undefined;
  try {
    url = new URL(text);
    // Throws for a percent sign that stands for itself.
    decodeURIComponent(url.username + url.password + url.pathname);
  } catch {
    url = undefined;
  }
  if (url === undefined || !/^amqps?:$/.test(url.protocol) || /^\/[^/]*\/./.test(url.pathname))
    throw new SidecarError(
      'ERR_CONFIGURATION',
      'url of rabbitmqPubSub must be like "amqp://user:password@host:5672/vhost"',
    );
  return url;
}
