import type { ScheduleBody } from '../../../api/jobs.ts';
import { post } from '../../core/client.ts';
import { given, jsonOf } from '../../core/input.ts';
import { link, navigate } from '../../core/router.ts';
import { FormDialog } from '../../ui/form.tsx';

const IF_EXISTS = ['fail', 'keep', 'replace', 'update'] as const;

/** Asks for a new job, and goes to it. */
export function ScheduleForm({ onClose }: { readonly onClose: () => void }) {
  return (
    <FormDialog
      title="Schedule a job"
      action="Schedule"
      onClose={onClose}
      fields={[
        { name: 'name', label: 'Name', isRequired: true },
        {
          name: 'schedule',
          label: 'Schedule',
          hint: 'Six cron fields (0 30 2 * * *), @daily or @every 1h30m. Empty: it runs once.',
        },
        { name: 'dueTime', label: 'First run', hint: 'An instant (2026-12-24T18:00:00Z) or a duration (10m).' },
        { name: 'repeats', label: 'Repeats', hint: 'A number. Empty: without end.' },
        { name: 'ttl', label: 'Ends', hint: 'An instant or a duration. Empty: never.' },
        { name: 'data', label: 'Data', isLong: true, hint: 'JSON. Empty: no data.' },
        { name: 'ifExists', label: 'If the job exists', options: IF_EXISTS },
      ]}
      submit={async ({ name = '', schedule, dueTime, repeats, ttl, data, ifExists }) => {
        const body: ScheduleBody = {
          name: name.trim(),
          ...given({
            schedule,
            dueTime,
            ttl,
            repeats: repeatsOf(repeats),
            data: jsonOf(data, 'The data'),
            ifExists: IF_EXISTS.find((one) => one === ifExists),
          }),
        };
        await post('jobs', body);
        navigate(link(['jobs', body.name]));
        return `${body.name} was scheduled`;
      }}
    />
  );
}

function repeatsOf(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return undefined;
  if (!/^\d+$/.test(trimmed)) throw new Error(`Repeats is “${trimmed}”: expected a number from 1.`);
  return Number(trimmed);
}
