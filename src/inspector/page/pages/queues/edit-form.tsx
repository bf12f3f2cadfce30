import type { PayloadView } from '../../../api/apps.ts';
import type { QueuedMessage, RedeliverBody } from '../../../api/queues.ts';
import { jsonOf } from '../../core/input.ts';
import { prettyJson } from '../../core/json.ts';
import { FormDialog } from '../../ui/form.tsx';

/** Why data must not be edited and sent back; `undefined` if it may. */
export function whyNotEditable({ isMasked, isCut, format, value }: PayloadView): string | undefined {
  if (format === 'hidden') return 'Its data is not shown here';
  if (isMasked) return 'Parts of its data are masked: they would be lost';
  if (isCut) return 'Its data is too long to be shown as a whole';
  if (format === 'text' && value.includes('\r')) return LINE_ENDS;
  return format === 'base64' ? 'Its data is binary' : undefined;
}

/** A text field makes LF of CR and CRLF. */
export const LINE_ENDS = 'Its line ends (CR) would be lost in a form';

interface EditFormProps {
  readonly message: QueuedMessage;
  readonly send: (data: NonNullable<RedeliverBody['data']>) => Promise<void>;
  readonly onClose: () => void;
}

/** Asks for the new data of a message. */
export function EditForm({ message: { payload, deadLetter }, send, onClose }: EditFormProps) {
  const isJson = payload.format === 'json';
  const value = isJson
    ? prettyJson(payload.value)
        .map(({ text }) => text)
        .join('')
    : payload.value;
  return (
    <FormDialog
      title="Edit and redeliver"
      action="Redeliver"
      onClose={onClose}
      fields={[{ name: 'text', label: isJson ? 'Data, JSON' : 'Data, text', value, isLong: true }]}
      submit={async ({ text = '' }) => {
        const json = isJson ? jsonOf(text, 'The data') : text;
        if (json === undefined) throw new Error('There is no data: expected JSON.');
        await send({ text: json, isJson });
        return '1 message redelivered';
      }}
    >
      <p>
        It goes to the group {deadLetter?.group} of {deadLetter?.topic}, and to no other. The attributes of its event
        stay, its ID too.
      </p>
    </FormDialog>
  );
}
