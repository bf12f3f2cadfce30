import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { currentApp } from '../core/session.ts';

export interface ConfirmOptions {
  readonly title: string;
  readonly body: ComponentChildren;
  /** The text of the button: a verb. */
  readonly action: string;
  readonly isDanger?: boolean;
}

interface Question extends ConfirmOptions {
  readonly answer: (isYes: boolean) => void;
}

const question = signal<Question | undefined>(undefined);

/** Asks the user. */
export function confirm(options: ConfirmOptions): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    question.value = {
      ...options,
      answer: (isYes) => {
        question.value = undefined;
        resolve(isYes);
      },
    };
  });
}

/** Where the question appears; once in the page. In another application, it would be about something else. */
export function ConfirmHost() {
  useEffect(() => () => question.peek()?.answer(false), [currentApp.value?.key]);
  const asked = question.value;
  if (asked === undefined) return null;
  return (
    <Dialog title={asked.title} onClose={() => asked.answer(false)}>
      <div class="dialog-body">{asked.body}</div>
      <DialogButtons onCancel={() => asked.answer(false)}>
        <button
          type="button"
          class={`button ${asked.isDanger === true ? 'danger' : 'primary'}`}
          onClick={() => asked.answer(true)}
        >
          {asked.action}
        </button>
      </DialogButtons>
    </Dialog>
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A modal window that is open as long as it is rendered. The focus goes back to where it was. */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** The buttons of a dialog, with one to leave it. */
export function DialogButtons(props: { readonly onCancel: () => void; readonly children: ComponentChildren }) {
  return (
    <div class="dialog-buttons">
      <button type="button" class="button" onClick={props.onCancel}>
        Cancel
      </button>
      {props.children}
    </div>
  );
}
