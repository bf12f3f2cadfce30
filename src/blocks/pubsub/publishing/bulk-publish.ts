import type { Message, PublishFailure, PubSubComponent } from '../../../components/pubsub.ts';
import { type FailedEntry, isError, messageOf, SidecarError } from '../../../errors.ts';
import { invalidEntries } from '../errors.ts';
import type { EnvelopeAddress } from './envelope.ts';

/** An encoded entry of a bulk publish. */
export interface EncodedEntry {
  readonly entryId: string;
  readonly message: Message;
}

/**
 * Checks that the IDs of bulk entries are unique.
 *
 * @throws SidecarError `ERR_PUBSUB_EVENTS_SER` naming the one that is not.
 */
export function checkEntryIds(entries: readonly { readonly entryId: string }[], address: EnvelopeAddress): void {
  const seen = new Set<string>();
  for (const [index, { entryId }] of entries.entries()) {
    if (typeof entryId !== 'string' || entryId === '' || seen.has(entryId)) {
      const problem = `entryId is ${JSON.stringify(entryId)}: expected a string that is unique in the request`;
      throw invalidEntries(address, `entry ${index}: ${problem}`);
    }
    seen.add(entryId);
  }
}

/**
 * Publishes entries in consecutive portions of at most `limitBytes`; a larger entry fails alone.
 *
 * @returns the errors of failed entries by entry ID
 */
export async function publishInPortions(
  component: PubSubComponent,
  entries: readonly EncodedEntry[],
  limitBytes: number,
): Promise<ReadonlyMap<string, string>> {
  const failed = new Map<string, string>();
  const fitting: EncodedEntry[] = [];
  for (const entry of entries) {
    const { length } = entry.message.data;
    if (length <= limitBytes) fitting.push(entry);
    else failed.set(entry.entryId, `the entry has ${length} bytes: maxBulkPubBytes allows ${limitBytes}`);
  }
  for (const portion of portions(fitting, limitBytes)) {
    for (const { index, error } of await publishPortion(component, portion)) {
      const entry = portion[index];
      if (entry !== undefined) failed.set(entry.entryId, messageOf(error));
    }
  }
  return failed;
}

function portions(entries: readonly EncodedEntry[], limitBytes: number): EncodedEntry[][] {
  const result: EncodedEntry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const { length } = entry.message.data;
    const current = result.at(-1);
    if (current !== undefined && bytes + length <= limitBytes) {
      current.push(entry);
      bytes += length;
    } else {
      result.push([entry]);
      bytes = length;
    }
  }
  return result;
}

async function publishPortion(
  component: PubSubComponent,
  portion: readonly EncodedEntry[],
): Promise<readonly PublishFailure[]> {
  try {
    return await component.publish(portion.map(({ message }) => message));
  } catch (cause) {
    const error = isError(cause) ? cause : new Error(messageOf(cause));
    return portion.map((_, index) => ({ index, error }));
  }
}

/** The error of a bulk publish with failed entries. */
export function bulkFailed(entries: readonly EncodedEntry[], failed: ReadonlyMap<string, string>): SidecarError {
  const failedEntries: FailedEntry[] = entries.flatMap(({ entryId }) => {
    const error = failed.get(entryId);
    return error === undefined ? [] : [{ entryId, error }];
  });
  const message = `${failed.size} of ${entries.length} entries were not published: ${failedEntries[0]?.error}`;
  return new SidecarError('ERR_PUBSUB_PUBLISH_MESSAGE', message, { failedEntries });
}
