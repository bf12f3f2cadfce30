import { useSignal } from '@preact/signals';
import type { InspectedQueue } from '../../../api/queues.ts';
import { post } from '../../core/client.ts';
import { plural } from '../../core/format.ts';
import { link, navigate } from '../../core/router.ts';
import { Action, Actions, opens } from '../../ui/actions.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { nameOf } from './links.ts';

interface QueueActionsProps {
  readonly queue: InspectedQueue;
  readonly refresh: () => void;
}

/** The actions on a queue as a whole. */
export function QueueActions({ queue: info, refresh }: QueueActionsProps) {
  const isPurging = useSignal(false);
  const { pubsubName, topic, group, isPaused, consumers } = info;
  const queue = { pubsubName, topic, group };
  const turn = (operation: 'pause' | 'resume') => async () => {
    await post(`queues/${operation}`, { queue });
    refresh();
    return operation === 'pause' ? 'Paused on all hosts: it collects meanwhile' : 'Resumed';
  };
  return (
    <>
      <Actions label="Actions of this queue">
        {isPaused ? <Action run={turn('resume')}>Resume</Action> : <Action run={turn('pause')}>Pause</Action>}
        <Action tone="danger" run={opens(isPurging)}>
          Purge…
        </Action>
        <Action
          tone="danger"
          reason={consumers > 0 ? 'It has subscriptions' : undefined}
          confirm={{
            title: `Remove the group ${group} of ${topic}?`,
            body: 'Its messages are lost, and it collects no more.',
            action: 'Remove',
            isDanger: true,
          }}
          run={async () => {
            const { changed } = await post('queues/remove-group', { queue });
            navigate(link('queues'), { replace: true });
            return `${nameOf(queue)} ${changed ? 'was removed' : 'was gone already'}`;
          }}
        >
          Remove group…
        </Action>
      </Actions>
      {isPurging.value ? (
        <FormDialog
          title={`Purge ${nameOf(queue)}`}
          action="Purge"
          onClose={() => (isPurging.value = false)}
          fields={[{ name: 'topic', label: `Type ${topic} to confirm`, isRequired: true }]}
          submit={async ({ topic: typed }) => {
            if (typed !== topic) throw new Error(`That is not “${topic}”.`);
            const { count } = await post('queues/purge', { queue });
            refresh();
            return `${plural(count, 'message')} removed`;
          }}
        >
          <p>All its messages are removed for good, but for those in flight.</p>
        </FormDialog>
      ) : null}
    </>
  );
}
