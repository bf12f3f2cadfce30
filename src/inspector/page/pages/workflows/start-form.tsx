import { post } from '../../core/client.ts';
import { given, jsonOf } from '../../core/input.ts';
import { link, navigate } from '../../core/router.ts';
import { FormDialog } from '../../ui/form.tsx';

/** Asks what to start, and goes there. */
export function StartForm({ onClose }: { readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Start a workflow"
      action="Start"
      onClose={onClose}
      fields={[
        { name: 'name', label: 'Workflow', isRequired: true, hint: 'The name under which it is registered.' },
        { name: 'input', label: 'Input', isLong: true, hint: 'JSON. Empty: no input.' },
        { name: 'instanceId', label: 'Instance ID', hint: 'Empty: the sidecar makes one.' },
      ]}
      submit={async ({ name = '', input, instanceId }) => {
        const { instanceId: id } = await post('workflows', {
          name: name.trim(),
          ...given({ input: jsonOf(input, 'The input'), instanceId }),
        });
        navigate(link(['workflows', id]));
        return `${id} was started`;
      }}
    />
  );
}
