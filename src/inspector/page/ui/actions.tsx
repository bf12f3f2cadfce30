import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { messageOf } from '../core/client.ts';
import { readOnlyReason } from '../core/session.ts';
import { toast } from '../core/toasts.ts';
import { type ConfirmOptions, confirm } from './confirm.tsx';

interface ActionProps {
  /** Does it. Answers what to tell; nothing for nothing. */
  readonly run: () => Promise<string | undefined> | string | undefined;
  /** Asks before. */
  readonly confirm?: ConfirmOptions | undefined;
  /** Why it cannot be done now. */
  readonly reason?: string | undefined;
  /** Whether it changes nothing on the server, so that anybody may. */
  readonly isHarmless?: boolean;
  readonly tone?: 'primary' | 'danger' | undefined;
  /** The key that it has in its group. */
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/**
 * A button that does something on the server: tells how it went, and why it cannot be done. One that cannot stays
 * reachable for the keyboard, so that the reason can be read.
 */
export function Action(props: ActionProps) {
  const isBusy = useSignal(false);
  const reason = props.reason ?? (props.isHarmless === true ? undefined : readOnlyReason.value);
  const press = async () => {
    if (reason !== undefined) return toast('bad', `${reason}.`);
    if (isBusy.value || (props.confirm !== undefined && !(await confirm(props.confirm)))) return;
    isBusy.value = true;
    try {
      const told = await props.run();
      if (told !== undefined) toast('ok', told);
    } catch (error) {
      toast('bad', messageOf(error));
    }
    isBusy.value = false;
  };
  return (
    <button
      type="button"
      class={`button ${props.tone ?? ''}`}
      aria-disabled={reason !== undefined}
      aria-busy={isBusy.value}
      title={reason ?? props.title}
      onClick={() => void press()}
    >
      {props.children}
    </button>
  );
}

/** Buttons in a row. The key `.` leads to the first. */
export function Actions({
  children,
  label = 'Actions',
}: {
  readonly children: ComponentChildren;
  readonly label?: string;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields.
    <div class="actions" role="group" aria-label={label}>
      {children}
    </div>
  );
}

/** For an action that opens a dialog: it needs the right to do what the dialog does. */
export function opens(isOpen: Signal<boolean>): () => undefined {
  return () => {
    isOpen.value = true;
  };
}
