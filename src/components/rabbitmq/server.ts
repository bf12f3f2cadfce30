import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { BOOLEAN, type OptionFields, secret, TEXT, type WrongOption } from '../../util/option-fields.ts';
import { hostOf, serverUrl } from '../broker/server-url.ts';
import type { ComponentContext } from '../component.ts';
import { OutageLog } from '../outage-log.ts';
import { RECONNECT } from '../reconnector.ts';
import { TLS_OPTIONS } from '../tls-fields.ts';
import type { AmqpModule, AmqpTarget } from './driver.ts';
import { RabbitConnection } from './rabbit-connection.ts';

/** How long a connection may take to be made. */
const CONNECT_LIMIT_MS = 5_000;
const PORTS = { amqp: 5672, amqps: 5671 } as const;

/** Where a server of RabbitMQ is, and how to talk to it. @public */
export interface RabbitmqServerOptions {
  /** `amqp://[user[:password]@]host[:port][/vhost]`, or `amqps://` for TLS. Default: `amqp://localhost:5672`. */
  readonly url?: string | undefined;
  /** Default: that of the URL, else `guest`. */
  readonly username?: string | undefined;
  /** Default: that of the URL, else `guest`. */
  readonly password?: string | undefined;
  /** The options of `tls.connect`, such as `ca`, `cert` and `key`; needs `amqps://`. Default: none. */
  readonly tls?: object | undefined;
  /** Whether the client's certificate names the user (SASL EXTERNAL); needs `amqps://`. Default: `false`. */
  readonly saslExternal?: boolean | undefined;
  /** The connections' name, which RabbitMQ shows. Default: the app ID. */
  readonly clientName?: string | undefined;
  /** A connection without a sign of life for twice this long is lost; 0 for never. Default `10s`. */
  readonly heartbeat?: Duration | undefined;
  /** The longest wait between attempts to connect. Default `2s`. */
  readonly maxReconnectDelay?: Duration | undefined;
}

/** Their checks. */
export const RABBITMQ_SERVER_FIELDS: OptionFields<RabbitmqServerOptions> = {
  url: secret(TEXT),
  username: secret(TEXT),
  password: secret(TEXT),
  tls: TLS_OPTIONS,
  saslExternal: BOOLEAN,
  clientName: TEXT,
  heartbeat: duration(0, 3_600_000),
  maxReconnectDelay: duration(1, 3_600_000),
};

/** The most messages that a server hands out ahead. */
export const MAX_PREFETCH = 65_535;

/** A server. */
export interface RabbitServer {
  /** For messages: without credentials. */
  readonly name: string;
  readonly target: AmqpTarget;
  /** The options of the driver's socket. */
  readonly socket: (amqp: AmqpModule, connectionName: string) => object;
}

/** @throws SidecarError `ERR_CONFIGURATION` */
export function serverOf(options: RabbitmqServerOptions, wrong: WrongOption<RabbitmqServerOptions>): RabbitServer {
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

/** Makes connections to a server, which tell their outages once. */
export function connectionsTo(
  server: RabbitServer,
  amqp: AmqpModule,
  { clientName, maxReconnectDelay }: RabbitmqServerOptions,
  { appId, logger }: Pick<ComponentContext, 'appId' | 'logger'>,
): (purpose: string) => RabbitConnection {
  const backoff = { ...RECONNECT, maxDelayMs: msOf(maxReconnectDelay) ?? RECONNECT.maxDelayMs };
  const outages = new OutageLog(logger, server.name);
  return (purpose) => {
    const connectionName = `${clientName ?? appId} (${purpose})`;
    const connect = (): ReturnType<AmqpModule['connect']> =>
      amqp.connect(server.target, server.socket(amqp, connectionName));
    return new RabbitConnection({ server: server.name, connect, backoff, random: Math.random, logger, outages });
  };
}
