import type { ComponentChildren } from 'preact';
import type { DiscardBody } from '../../../api/queues.ts';
import { messageOf, post } from '../../core/client.ts';
import { plural } from '../../core/format.ts';
import { toast } from '../../core/toasts.ts';
import { Action, Actions } from '../../ui/actions.tsx';
import { nameOf } from './links.ts';

interface MessageActionsProps {
  /** The selected messages, of one queue each. */
  readonly parts: readonly DiscardBody[];
  /** The selection in words. */
  readonly what: string;
  /** Whether it is known where all of them came from. */
  readonly haveOrigins: boolean;
  readonly onDone: () => void;
  /** More buttons. */
  readonly children?: ComponentChildren;
}

/** The actions on messages that wait. */
export function MessageActions({ parts, what, haveOrigins, onDone, children }: MessageActionsProps) {
  const reason = parts.length === 0 ? 'Select messages first' : undefined;
  const isMany = parts.some(({ selection }) => !Array.isArray(selection));
  const run = (operation: 'redeliver' | 'discard', verb: string) => async () => {
    const count = await each(parts, operation);
    onDone();
    return `${plural(count, 'message')} ${verb}`;
  };
  return (
    <Actions label={`Actions: ${what}`}>
      <Action
        tone="primary"
        reason={reason ?? (haveOrigins ? undefined : NO_ORIGIN)}
        confirm={
          isMany
            ? {
                title: `Redeliver ${what}?`,
                body: 'Each goes back to the group that it came from.',
                action: 'Redeliver',
              }
            : undefined
        }
        run={run('redeliver', 'redelivered')}
      >
        Redeliver to group
      </Action>
      {children}
      <Action
        tone="danger"
        reason={reason}
        confirm={{ title: `Discard ${what}?`, body: 'This cannot be undone.', action: 'Discard', isDanger: true }}
        run={run('discard', 'discarded')}
      >
        Discard…
      </Action>
    </Actions>
  );
}

export const NO_ORIGIN = 'Only dead letters know where they came from';

/** One queue after the other: what fails in one does not keep the others from it. */
async function each(parts: readonly DiscardBody[], operation: 'redeliver' | 'discard'): Promise<number> {
  let done = 0;
  for (const part of parts)
    try {
      done += (await post(`queues/${operation}`, part)).count;
    } catch (error) {
      toast('bad', `${nameOf(part.queue)}: ${messageOf(error)}`);
    }
  return done;
}
