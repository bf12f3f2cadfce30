import type { BulkBody, BulkReply, WorkflowFilterBody } from '../../../api/workflows.ts';
import { post } from '../../core/client.ts';
import { plural } from '../../core/format.ts';
import { toast } from '../../core/toasts.ts';
import { Action, Actions } from '../../ui/actions.tsx';
import type { Selection } from '../../ui/selection.tsx';

interface BulkProps {
  readonly selection: Selection;
  /** The filter that stands for all; absent: all cannot be selected. */
  readonly filter: WorkflowFilterBody | undefined;
  readonly refresh: () => void;
}

type Operation = 'terminate-all' | 'purge-all' | 'rerun-all';

const DONE: Readonly<Record<Operation, string>> = {
  'terminate-all': 'terminated',
  'purge-all': 'purged',
  'rerun-all': 'started again',
};

/** The actions on the workflows that are selected, or on all that match. */
export function BulkActions({ selection, filter, refresh }: BulkProps) {
  const { isAll, keys, isEmpty } = selection;
  const reason = isEmpty.value ? 'Select workflows first' : undefined;
  const what = isAll.value ? 'all that match' : plural(keys.value.size, 'workflow');
  const run =
    (operation: Operation, more: Partial<BulkBody> = {}) =>
    async () => {
      const meant: BulkBody = isAll.value ? { ...(filter && { filter }) } : { instanceIds: [...keys.value] };
      const reply = await post(`workflows/${operation}`, { ...meant, ...more });
      selection.clear();
      refresh();
      return resultOf(operation, reply, failuresOf(meant, reply));
    };
  return (
    <Actions label="Selected workflows">
      <Action
        reason={reason}
        run={run('rerun-all', { from: 'failure' })}
        confirm={{
          title: `Run ${what} again from the failure?`,
          body: 'Each becomes a new instance: what has failed is done again, what has completed is not. Those that are not over, or did not fail, are refused.',
          action: 'Run again',
        }}
      >
        Run again from failure…
      </Action>
      <Action
        reason={reason}
        run={run('terminate-all')}
        tone="danger"
        confirm={{
          title: `Terminate ${what}?`,
          body: 'They end at once, with their children. What is under way is not undone.',
          action: 'Terminate',
          isDanger: true,
        }}
      >
        Terminate…
      </Action>
      <Action
        reason={reason}
        run={run('purge-all')}
        tone="danger"
        confirm={{
          title: `Purge ${what}?`,
          body: 'Their histories, inputs and outputs are removed for good. Those that are not over are refused.',
          action: 'Purge',
          isDanger: true,
        }}
      >
        Purge…
      </Action>
    </Actions>
  );
}

/** How many have failed, in words: a reply names 100 of them at most. */
function failuresOf({ instanceIds }: BulkBody, { done, failed }: BulkReply): string {
  if (instanceIds !== undefined) return plural(instanceIds.length - done, 'workflow');
  return `${failed.length < 100 ? '' : 'At least '}${plural(failed.length, 'workflow')}`;
}

/** Shows failures apart from successes: they stay until they are read. */
function resultOf(operation: Operation, { done, failed, hasMore }: BulkReply, failures: string): string {
  const [first] = failed;
  if (first !== undefined)
    toast('bad', `${failures} could not be ${DONE[operation]}; ${first.instanceId}: ${first.reason}`);
  const more = operation === 'rerun-all' ? 'narrow the filters for the others' : 'do it again for the others';
  return `${plural(done, 'workflow')} ${DONE[operation]}${hasMore ? `. There are more: ${more}` : ''}`;
}
