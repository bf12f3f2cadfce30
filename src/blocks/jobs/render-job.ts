import type { PolicyFields } from '../../timed/job.ts';
import { DEFAULT_POLICY } from '../../timed/planning/policy.ts';
import type { JobRules } from '../../wire.ts';
import type { FoundJob } from './job-service.ts';

/** The body of a read. `data` is spliced in as it was sent. */
export function renderJob({ job, data }: FoundJob, { policyAnswer }: JobRules): string {
  const { name, schedule, repeats, dueTime, ttl, policy } = job;
  const before = JSON.stringify({ name, schedule, repeats, dueTime, ttl });
  const after = JSON.stringify(policyAnswer(policy && onWire(policy), DEFAULT_POLICY));
  const middle = data === undefined ? '' : `,"data":${data}`;
  return before.slice(0, -1) + middle + (after === '{}' ? '}' : `,${after.slice(1)}`);
}

/** The API knows no back-off. */
function onWire(policy: PolicyFields): PolicyFields {
  return 'drop' in policy ? policy : { constant: policy.constant };
}
