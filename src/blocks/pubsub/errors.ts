import { type ErrorCode, messageOf, SidecarError } from '../../errors.ts';
import { shown } from '../../util/shown.ts';
import { expectedNames } from '../../util/suggest.ts';
import type { Metadata } from '../request-metadata.ts';
import type { EnvelopeAddress, PublishDestination } from './publishing/envelope.ts';

/** The errors of publishing, with the details that Dapr's clients expect. */

export function pubsubNameEmpty(metadata: Metadata): SidecarError {
  return named('ERR_PUBSUB_EMPTY', 'pubsub name is empty', 'NAME_EMPTY', '', { metadata });
}

/** For an empty topic, in the words of Dapr, and for what plain JavaScript gives in place of one. */
export function topicEmpty({ pubsubName, topic }: PublishDestination, metadata: Metadata): SidecarError {
  const problem = topic === '' ? 'empty' : `${shown(topic)}, expected a text that is not empty,`;
  const message = `topic is ${problem} in pubsub ${pubsubName}`;
  return named('ERR_TOPIC_NAME_EMPTY', message, 'TOPIC_NAME_EMPTY', pubsubName, { metadata });
}

/** A bulk publish answers 400 for this, a single one 404, as the API document says. */
export function pubsubNotFound(
  pubsubName: string,
  metadata: Metadata,
  { bulk = false, hint = '' }: { readonly bulk?: boolean; readonly hint?: string } = {},
): SidecarError {
  const name = typeof pubsubName === 'string' ? pubsubName : shown(pubsubName);
  return new SidecarError('ERR_PUBSUB_NOT_FOUND', `pubsub ${name} is not found${hint}`, {
    details: { reason: 'PUBSUB_NOT_FOUND', metadata },
    ...(bulk ? { status: 400 } : {}),
  });
}

/** For callers in code: the available components. Over HTTP the message is Dapr's. */
export function hintInCode(
  call: 'publish' | 'publishBulk' | 'subscribe',
  { pubsubName, topic }: PublishDestination,
  known: readonly string[],
): string {
  const isSwapped = known.includes(topic);
  const last = { publish: 'data', publishBulk: 'entries', subscribe: 'handler' }[call];
  return `${knownNames(pubsubName, known)}${isSwapped ? `; the order is ${call}(pubsubName, topic, ${last})` : ''}`;
}

/** The available components, as the end of a sentence about one that is not found. */
export function knownNames(pubsubName: string, known: Iterable<string>): string {
  return expectedNames(pubsubName, known, 'there is no pub/sub component');
}

/** `problem` says why no application may use it. */
export function topicForbidden({ appId, pubsubName, topic }: EnvelopeAddress, problem?: string): SidecarError {
  const message =
    problem === undefined
      ? `topic ${topic} is not allowed for app id ${appId}`
      : `topic ${topic} cannot be used on pubsub ${pubsubName}: ${problem}`;
  return named('ERR_PUBSUB_FORBIDDEN', message, 'FORBIDDEN', pubsubName, { metadata: { error: message, topic } });
}

export function publishFailed({ pubsubName, topic }: EnvelopeAddress, cause: unknown): SidecarError {
  const error = messageOf(cause);
  const message = `error when publishing to topic ${topic} in pubsub ${pubsubName}: ${error}`;
  return named('ERR_PUBSUB_PUBLISH_MESSAGE', message, 'PUBLISH_MESSAGE', pubsubName, {
    metadata: { topic, error },
    cause,
  });
}

/** For functions in code: subscriptions of other kinds are tried again. */
export function subscribeFailed({ pubsubName, topic }: PublishDestination, cause: unknown): SidecarError {
  const error = messageOf(cause);
  const message = `error when subscribing to topic ${topic} in pubsub ${pubsubName}: ${error}`;
  return named('ERR_PUBSUB_SUBSCRIBE', message, 'SUBSCRIBE', pubsubName, { metadata: { topic, error }, cause });
}

export function invalidMetadata(pubsubName: string, metadata: Metadata, problem: string): SidecarError {
  const message = `failed deserializing metadata. Error: ${problem}`;
  return named('ERR_PUBSUB_REQUEST_METADATA', message, 'METADATA_DESERIALIZATION', pubsubName, { metadata });
}

export function invalidEvent({ appId, pubsubName }: EnvelopeAddress, problem: string, cause?: unknown): SidecarError {
  const message = `cannot create cloudevent: ${problem}`;
  return named('ERR_PUBSUB_CLOUD_EVENTS_SER', message, 'CLOUD_EVENT_CREATION', pubsubName, {
    metadata: { appID: appId, error: problem },
    cause,
  });
}

export function invalidEntries(
  { appId, pubsubName, topic }: EnvelopeAddress,
  problem: string,
  cause?: unknown,
): SidecarError {
  const message = `error when unmarshaling the request for topic ${topic} pubsub ${pubsubName}: ${problem}`;
  return named('ERR_PUBSUB_EVENTS_SER', message, 'UNMARSHAL_EVENTS', pubsubName, {
    metadata: { appID: appId, error: problem },
    cause,
  });
}

function named(
  code: ErrorCode,
  message: string,
  reason: string,
  pubsubName: string,
  about: { readonly metadata: Metadata; readonly cause?: unknown },
): SidecarError {
  return new SidecarError(code, message, {
    cause: about.cause,
    details: {
      reason: `PUBSUB_${reason}`,
      metadata: about.metadata,
      resource: { type: 'pubsub', name: pubsubName },
    },
  });
}
