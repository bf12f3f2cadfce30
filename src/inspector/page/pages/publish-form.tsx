import { post } from '../core/client.ts';
import { FormDialog } from '../ui/form.tsx';

interface PublishFormProps {
  readonly pubsubName?: string | undefined;
  readonly topic?: string | undefined;
  readonly data?: string | undefined;
  readonly contentType?: string | undefined;
  readonly onClose: () => void;
}

/** Publishes a message to all groups of a topic. */
export function PublishForm({ pubsubName, topic, data, contentType, onClose }: PublishFormProps) {
  return (
    <FormDialog
      title={data === undefined ? 'Publish a message' : 'Publish again'}
      action="Publish"
      onClose={onClose}
      fields={[
        { name: 'pubsubName', label: 'Component', value: pubsubName ?? 'pubsub', isRequired: true },
        { name: 'topic', label: 'Topic', value: topic ?? '', isRequired: true },
        { name: 'data', label: 'Data', value: data ?? '{}', isLong: true },
        { name: 'contentType', label: 'Content type', value: contentType ?? 'application/json' },
        { name: 'metadata', label: 'Metadata', hint: 'As ttlInSeconds=60, rawPayload=true' },
      ]}
      submit={async ({ pubsubName = '', topic = '', data = '', contentType = '', metadata = '' }) => {
        const given = parseMetadata(metadata);
        await post('messages', {
          pubsubName,
          topic,
          data,
          ...(contentType === '' ? undefined : { contentType }),
          ...(given === undefined ? undefined : { metadata: given }),
        });
        return `Published to ${topic}`;
      }}
    >
      <p class="note">A new event is made: every group of the topic gets it.</p>
    </FormDialog>
  );
}

function parseMetadata(text: string): Record<string, string> | undefined {
  if (text.trim() === '') return undefined;
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const mark = pair.indexOf('=');
      if (mark < 1) throw new Error(`Metadata “${pair.trim()}”: expected name=value`);
      return [pair.slice(0, mark).trim(), pair.slice(mark + 1).trim()];
    }),
  );
}
