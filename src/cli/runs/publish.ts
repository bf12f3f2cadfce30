import { harmlessLines } from '../../util/harmless-text.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, misuse } from '../failure.ts';
import { readFlagsOnly } from '../flags-only.ts';
import { askSidecar, contentOf, dataOf } from './ask-sidecar.ts';
import { PUBLISH_FLAGS } from './flags.ts';
import { publishHelp } from './help.ts';
import { oneApp } from './running-apps.ts';

const COMMAND = 'publish';
/** What makes JSON a CloudEvent, as for `dapr publish`. */
const EVENT_FIELDS = ['id', 'source', 'specversion', 'type'];

/** `insidecar publish`: publishes a message as an application that runs; returns the exit code. */
export async function publish(args: readonly string[], context: CommandContext): Promise<number> {
  const { stdout, environment } = context;
  const flags = readFlagsOnly(args, { name: COMMAND, flags: PUBLISH_FLAGS, help: publishHelp }, context);
  if (flags === undefined) return 0;
  const [pubsub, topic] = [flags.text('pubsub'), flags.text('topic')];
  if (!pubsub || !topic) throw misuse(`--${pubsub ? 'topic' : 'pubsub'} is missing`, COMMAND);
  const query = metadataQuery(flags.text('metadata'));
  const body = await dataOf(flags, context, COMMAND);
  if (body === undefined) throw misuse('--data or --data-file is missing', COMMAND);
  const app = oneApp(flags.text('publish-app-id'), { environment, flag: 'publish-app-id', about: COMMAND });
  const path = `/v1.0/publish/${encodeURIComponent(pubsub)}/${encodeURIComponent(topic)}${query}`;
  const { status, body: answer } = await askSidecar(
    app,
    { method: 'POST', path, contentType: contentTypeOf(body), body },
    environment,
  );
  if (status >= 300)
    throw new CommandFailure(`${app.appId} did not publish: ${status} ${harmlessLines(String(answer))}`);
  stdout.write(`published to ${topic} of ${pubsub} by ${app.appId}\n`);
  return 0;
}

function contentTypeOf(body: Buffer): string {
  const { type, value } = contentOf(body);
  const isEvent =
    typeof value === 'object' && value !== null && EVENT_FIELDS.every((name) => Object.hasOwn(value, name));
  return isEvent ? 'application/cloudevents+json' : type;
}

/** @throws Failure for other than a JSON object of texts, numbers and truth values. */
function metadataQuery(text: string | undefined): string {
  if (text === undefined) return '';
  const { value } = contentOf(Buffer.from(text));
  const entries =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : undefined;
  if (entries === undefined || entries.some(([, one]) => !['string', 'number', 'boolean'].includes(typeof one)))
    throw misuse(`--metadata must be JSON such as {"ttlInSeconds":"60"}: actual is ${JSON.stringify(text)}`, COMMAND);
  const query = entries.map(([name, one]) => `metadata.${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`);
  return query.length === 0 ? '' : `?${query.join('&')}`;
}
