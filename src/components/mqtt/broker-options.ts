import { type Duration, msOf } from '../../util/duration.ts';
import { duration } from '../../util/duration-option.ts';
import { ANY_TEXT, ANYTHING, type OptionFields, secret, type WrongOption } from '../../util/option-fields.ts';
import { tlsOptions } from '../broker/options.ts';
import { hostOf, serverUrl, urlPart } from '../broker/server-url.ts';
import { TLS } from '../tls-fields.ts';
import type { MqttBroker } from './mqtt-connection.ts';

/** Where an MQTT broker is, and how to talk to it. @public */
export interface MqttBrokerOptions {
  /**
   * `mqtt://[user[:password]@]host[:port]`, or `mqtts://` for TLS. `tcp` means `mqtt`; `ssl`, `tls` and `tcps` mean
   * `mqtts`. Default ports: 1883, 8883.
   */
  readonly url: string;
  /** Default: that of the URL. */
  readonly username?: string | undefined;
  /** Default: that of the URL. */
  readonly password?: string | undefined;
  /** `true`, or the options of `tls.connect`. Default: `true` if the URL stands for TLS. */
  readonly tls?: boolean | object | undefined;
  /** After so much silence of the broker a connection counts as broken; at least `2s`. Default `20s`. */
  readonly keepAlive?: Duration | undefined;
}

/** Their checks. */
export const MQTT_BROKER_FIELDS: OptionFields<MqttBrokerOptions> = {
  url: secret(ANYTHING),
  username: secret(ANY_TEXT),
  password: secret(ANY_TEXT),
  tls: TLS,
  keepAlive: duration(2_000, 65_535_000),
};
const PLAIN_SCHEMES = ['mqtt:', 'tcp:'];
const TLS_SCHEMES = ['mqtts:', 'ssl:', 'tls:', 'tcps:'];
const DEFAULT_KEEP_ALIVE_MS = 20_000;

/** @throws SidecarError `ERR_CONFIGURATION` */
export function brokerOf(
  options: MqttBrokerOptions,
  protocolVersion: MqttBroker['protocolVersion'],
  wrong: WrongOption<MqttBrokerOptions>,
): MqttBroker {
  const { keepAlive = DEFAULT_KEEP_ALIVE_MS } = options;
  const url = serverUrl(options.url, [...PLAIN_SCHEMES, ...TLS_SCHEMES]);
  if (url === undefined || url.hostname === '' || !/^\/?$/.test(url.pathname) || url.search !== '')
    throw wrong('url', 'one like "mqtt://user:password@host:1883", with mqtt, mqtts, tcp, ssl, tls or tcps');
  const isTls = TLS_SCHEMES.includes(url.protocol);
  const { username = urlPart(url.username), password = urlPart(url.password) } = options;
  if (password !== undefined && username === undefined) throw wrong('password', 'a username with it');
  const port = Number(url.port || (isTls ? 8883 : 1883));
  return {
    ...{ name: `MQTT broker at ${url.hostname}:${port}`, host: hostOf(url), port, username, password, protocolVersion },
    tls: tlsOptions(options.tls ?? isTls),
    keepAliveS: Math.ceil(msOf(keepAlive) / 1_000),
  };
}
