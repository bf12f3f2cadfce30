/** The reasons for which another attempt of the same client is of no use: its version, its ID or its login. */
const FINAL: ReadonlySet<number> = new Set([132, 133, 134, 135, 138, 140, 155]);

/** A broker's refusal. */
export class RefusedError extends Error {
  /** Reason code of MQTT 5. */
  readonly reason: number;

  constructor(message: string, reason: number) {
    super(message);
    this.reason = reason;
  }

  /** Whether only other settings help. */
  get isFinal(): boolean {
    return FINAL.has(this.reason);
  }
}

/** The broker takes QoS 0 only. */
export const QOS_NOT_SUPPORTED = 155;
/** Another client has connected with the same client ID. */
export const SESSION_TAKEN_OVER = 142;
/** From this code on, MQTT 5 means a failure. */
export const FIRST_FAILURE = 128;

/** The meaning of the codes of both versions. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [128, 'unspecified error'],
  [129, 'malformed packet'],
  [130, 'protocol error'],
  [131, 'the broker does not accept it'],
  [132, 'it does not speak this version of MQTT'],
  [133, 'the client ID is not valid'],
  [134, 'bad user name or password'],
  [135, 'not authorized'],
  [136, 'it is not available'],
  [137, 'it is busy'],
  [138, 'the client is banned'],
  [139, 'it shuts down'],
  [140, 'bad authentication method'],
  [141, 'it heard nothing for too long'],
  [SESSION_TAKEN_OVER, 'another client has connected with the same client ID'],
  [143, 'the topic filter is not valid'],
  [144, 'the topic name is not valid'],
  [147, 'too many messages are in flight'],
  [149, 'the message is too large'],
  [150, 'too many messages per second'],
  [151, 'a quota is exceeded'],
  [152, 'an administrator ended it'],
  [153, 'the payload is not valid'],
  [154, 'it keeps no retained messages'],
  [QOS_NOT_SUPPORTED, 'it does not support QoS 1'],
  [156, 'use another server'],
  [157, 'the server has moved'],
  [158, 'it has no shared subscriptions'],
  [159, 'too many connections per second'],
  [160, 'the connection has lasted long enough'],
  [162, 'it has no wildcard subscriptions'],
]);
/** The return codes of a CONNACK of MQTT 3.1.1, in terms of MQTT 5. */
const CONNECT_RETURNS: readonly number[] = [0, 132, 133, 136, 134, 135];

/** The reason of MQTT 5 for the code of a CONNACK: brokers of MQTT 3.1.1 answer in their own codes. */
export function connectReason(code: number): number {
  return CONNECT_RETURNS[code] ?? code;
}

/** Describes a code: `not authorized (135)`. `detail` is what the broker says itself. */
export function describeReason(code: number, detail?: string): string {
  const text = REASONS.get(code) ?? 'unknown reason';
  return `${text}${detail === undefined || detail === '' ? '' : `: ${detail}`} (${code})`;
}
