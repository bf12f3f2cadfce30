import type { Wire } from '../../wire.ts';
import type { FoundJob } from './job-service.ts';
import type { PolicyFields } from './model/job.ts';
import { DEFAULT_POLICY } from './planning/policy.ts';

/** The body of a read, in the spelling of the wire. `data` is spliced in as it was sent. */
export function renderJob({ job, data }: FoundJob, wire: Wire): string {
  const { name, schedule, repeats, dueTime, ttl, policy } = job;
  const { camelCaseAnswers } = wire.jobs;
  const shownPolicy = camelCaseAnswers ? (policy ?? DEFAULT_POLICY) : policy && snakeCase(policy);
  const before = JSON.stringify({ name, schedule, repeats, dueTime, ttl });
  const after = JSON.stringify({ [camelCaseAnswers ? 'failurePolicy' : 'failure_policy']: shownPolicy });
  const middle = data === undefined ? '' : `,"data":${data}`;
  return before.slice(0, -1) + middle + (after === '{}' ? '}' : `,${after.slice(1)}`);
}

function snakeCase(policy: PolicyFields): object {
  if ('drop' in policy) return policy;
  const { maxRetries: max_retries, interval } = policy.constant;
  return { constant: { max_retries, interval } };
}
