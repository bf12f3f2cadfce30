import { bytesOf } from '../../../util/bytes.ts';
import { invalidData, parseWith } from '../../../util/standard-schema.ts';
import type { EncodedData } from './payload.ts';
import type { TopicDefinition } from './topic.ts';

/**
 * Checks data as their subscribers will see them: what JSON makes of a `Date` is a text. Data that a schema takes only
 * before they are sent would be a dead letter everywhere.
 *
 * @throws SidecarError `ERR_INVALID_DATA`
 */
export async function checkAsSent(
  { name, schema }: TopicDefinition,
  data: unknown,
  { bytes }: EncodedData,
): Promise<void> {
  const isJson = typeof data !== 'string' && bytesOf(data) === undefined;
  const sent: unknown = isJson ? JSON.parse(Buffer.from(bytes).toString()) : data;
  await parseWith(schema, sent, (problem) => invalidData(`the data for topic ${JSON.stringify(name)} ${problem}`));
}
