import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { messageOf } from '../core/client.ts';
import { toast } from '../core/toasts.ts';
import { Dialog, DialogButtons } from './confirm.tsx';

export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  /** Several lines, for JSON. */
  readonly isLong?: boolean;
  readonly isRequired?: boolean;
  /** Text to choose from. */
  readonly options?: readonly string[];
  readonly hint?: string;
}

interface FormProps {
  readonly title: string;
  readonly fields: readonly FieldSpec[];
  /** The text of the button: a verb. */
  readonly action: string;
  /** Gets the values by name, and answers what to tell. The dialog stays open with the message if it throws. */
  readonly submit: (values: Readonly<Record<string, string>>) => Promise<string | undefined>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** A dialog with fields. */
export function FormDialog({ title, fields, action, submit, onClose, children }: FormProps) {
  const problem = useSignal('');
  const isBusy = useSignal(false);
  const isOpen = useRef(true);
  useEffect(
    () => () => {
      isOpen.current = false;
    },
    [],
  );
  const send = async (form: HTMLFormElement) => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      const given = [...new FormData(form)].map(([name, value]) => [name, String(value)]);
      const told = await submit(Object.fromEntries(given));
      if (isOpen.current) onClose();
      if (told !== undefined) toast('ok', told);
    } catch (error) {
      if (isOpen.current) problem.value = messageOf(error);
      else toast('bad', `${title}: ${messageOf(error)}`);
    }
    isBusy.value = false;
  };
  return (
    <Dialog title={title} onClose={onClose} isWide={fields.some(({ isLong }) => isLong)}>
      {children}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(event.currentTarget);
        }}
      >
        {fields.map((field) => (
          <Field key={field.name} {...field} />
        ))}
        <p class="problem" role="alert">
          {problem}
        </p>
        <DialogButtons onCancel={onClose}>
          <button type="submit" class="button primary" aria-busy={isBusy.value}>
            {action}
          </button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/** A label and its field. It begins with the first value that it gets: later ones do not change what somebody sees. */
function Field({ name, label, value = '', isLong, isRequired = false, options, hint }: FieldSpec) {
  const id = useId();
  const [initial] = useState(value);
  const shared = { id, name, required: isRequired, 'aria-describedby': hint === undefined ? undefined : `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isLong === true ? (
        <textarea {...shared} rows={10} spellcheck={false} defaultValue={initial} />
      ) : options !== undefined ? (
        <select {...shared} defaultValue={initial}>
          {options.map((option) => (
            <option key={option} selected={option === initial}>
              {option}
            </option>
          ))}
        </select>
      ) : (
        <input {...shared} type="text" autocomplete="off" defaultValue={initial} />
      )}
      {hint === undefined ? null : <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}
