import { useSignal } from '@preact/signals';
import type { WorkflowReply } from '../../../api/workflows.ts';
import { post } from '../../core/client.ts';
import { download } from '../../core/download.ts';
import { given, jsonOf } from '../../core/input.ts';
import { link, navigate } from '../../core/router.ts';
import { isOver } from '../../timeline/model.ts';
import { Action, Actions } from '../../ui/actions.tsx';
import { FormDialog } from '../../ui/form.tsx';

interface InstanceActionsProps {
  readonly reply: WorkflowReply;
  readonly refresh: () => void;
}

/** The actions on an instance. */
export function InstanceActions({ reply, refresh }: InstanceActionsProps) {
  const dialog = useSignal<keyof typeof FORMS | undefined>(undefined);
  const { instanceId, status } = reply.instance;
  const over = isOver(status) ? 'It is over' : undefined;
  const notOver = isOver(status) ? undefined : 'It is not over';
  const Form = dialog.value && FORMS[dialog.value];
  const change = (operation: 'pause' | 'resume' | 'cancel', done: string) => async () => {
    await post(`workflows/${operation}`, { instanceId });
    refresh();
    return done;
  };
  const open = (name: keyof typeof FORMS) => (): undefined => {
    dialog.value = name;
  };
  return (
    <>
      <Actions label="Actions of this workflow">
        {status === 'SUSPENDED' ? (
          <Action run={change('resume', 'Resumed')}>Resume</Action>
        ) : (
          <Action run={change('pause', 'Paused')} reason={over}>
            Pause
          </Action>
        )}
        <Action run={open('event')} reason={over}>
          Raise event…
        </Action>
        <Action run={open('rerun')} reason={notOver}>
          Run again…
        </Action>
        <Action
          run={change('cancel', 'Canceled')}
          reason={over}
          confirm={{ title: `Cancel ${instanceId}?`, body: 'It cleans up and ends.', action: 'Cancel' }}
        >
          Cancel…
        </Action>
        <Action run={open('terminate')} reason={over} tone="danger">
          Terminate…
        </Action>
        <Purge instanceId={instanceId} reason={notOver} />
        <Action isHarmless run={() => download(`${instanceId}.json`, reply)}>
          JSON
        </Action>
      </Actions>
      {Form ? (
        <Form
          instanceId={instanceId}
          onClose={() => {
            dialog.value = undefined;
            refresh();
          }}
        />
      ) : null}
    </>
  );
}

function Purge({ instanceId, reason }: { readonly instanceId: string; readonly reason: string | undefined }) {
  return (
    <Action
      reason={reason}
      tone="danger"
      confirm={{
        title: `Purge ${instanceId}?`,
        body: 'Its history, input and output are removed for good, and those of its children.',
        action: 'Purge',
        isDanger: true,
      }}
      run={async () => {
        await post('workflows/purge', { instanceId });
        navigate(link('workflows'), { replace: true });
        return `${instanceId} was purged`;
      }}
    >
      Purge…
    </Action>
  );
}

interface FormProps {
  readonly instanceId: string;
  readonly onClose: () => void;
}

function RaiseEvent({ instanceId, onClose }: FormProps) {
  return (
    <FormDialog
      title="Raise an event"
      action="Raise"
      onClose={onClose}
      fields={[
        { name: 'name', label: 'Event', isRequired: true, hint: 'Case does not matter.' },
        { name: 'data', label: 'Data', isLong: true, hint: 'JSON. Empty: no data.' },
      ]}
      submit={async ({ name = '', data }) => {
        await post('workflows/raise-event', {
          instanceId,
          name: name.trim(),
          ...given({ data: jsonOf(data, 'The data') }),
        });
        return `${name.trim()} was raised`;
      }}
    />
  );
}

function Terminate({ instanceId, onClose }: FormProps) {
  return (
    <FormDialog
      title={`Terminate ${instanceId}`}
      action="Terminate"
      onClose={onClose}
      fields={[{ name: 'output', label: 'Output', isLong: true, hint: 'JSON. Empty: no output.' }]}
      submit={async ({ output }) => {
        await post('workflows/terminate', { instanceId, ...given({ output: jsonOf(output, 'The output') }) });
        return `${instanceId} was terminated`;
      }}
    >
      <p>It ends at once, with its children. What is under way is not undone.</p>
    </FormDialog>
  );
}

const FROM = ['failure', 'start'] as const;

function Rerun({ instanceId, onClose }: FormProps) {
  return (
    <FormDialog
      title={`Run ${instanceId} again`}
      action="Run again"
      onClose={onClose}
      fields={[
        {
          name: 'from',
          label: 'From',
          options: FROM,
          hint: 'From the failure: what has failed is done again, what has completed is not. From another action: open it in the timeline.',
        },
        {
          name: 'input',
          label: 'Input',
          isLong: true,
          hint: 'Only from the start: another input, as JSON. Empty: the same input.',
        },
        { name: 'newInstanceId', label: 'New ID', hint: 'Empty: the sidecar makes one.' },
      ]}
      submit={async ({ from, input, newInstanceId }) => {
        const { instanceId: id } = await post('workflows/rerun', {
          instanceId,
          from: from === 'start' ? 'start' : 'failure',
          ...given({ input: jsonOf(input, 'The input'), newInstanceId }),
        });
        navigate(link(['workflows', id]));
        return `${id} was started`;
      }}
    />
  );
}

const FORMS = { event: RaiseEvent, terminate: Terminate, rerun: Rerun } as const;
