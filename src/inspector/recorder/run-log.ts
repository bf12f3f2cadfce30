import type { InvocationInfo, JobRunInfo, WorkflowInfo } from '../../index.ts';
import type { JobRecord, WorkflowRecord } from '../api/live.ts';
import { CallEntry, JobEntry, shortened, WorkflowEntry } from './entries.ts';
import type { LogDeps } from './message-log.ts';
import { NameIndex } from './name-index.ts';

/** Puts together what happens to runs of jobs, to workflows, and to calls. */
export class RunLog {
  readonly #deps: LogDeps;
  readonly #jobs = new NameIndex<JobEntry>();
  readonly #workflows = new NameIndex<WorkflowEntry>();

  constructor(deps: LogDeps) {
    this.#deps = deps;
  }

  called(info: InvocationInfo): void {
    this.#deps.ring.add(new CallEntry(this.#deps.now(), info));
  }

  jobBegan(info: JobRunInfo): JobEntry {
    const entry = new JobEntry(this.#deps.now(), info);
    this.#deps.ring.add(entry);
    this.#jobs.add(entry);
    return entry;
  }

  jobEnded(outcome: JobRecord['outcome'], info: JobRunInfo, reason?: string): void {
    const { jobName, dueAt, attempt } = info;
    const entry =
      this.#jobs.find(jobName, (one) => one.dueAt === dueAt && one.attempt === attempt && one.outcome === 'running') ??
      this.jobBegan(info);
    entry.outcome = outcome;
    entry.reason = reason && shortened(reason);
    entry.endedAt = this.#deps.now();
    this.#deps.ring.touch(entry);
  }

  /** A workflow that continues as new has started before. */
  workflowStarted(info: WorkflowInfo): void {
    this.#workflow(info);
  }

  workflowEnded(outcome: WorkflowRecord['outcome'], info: WorkflowInfo, reason?: string): void {
    const entry = this.#workflow(info);
    entry.outcome = outcome;
    entry.reason = reason && shortened(reason);
    entry.endedAt = this.#deps.now();
    this.#deps.ring.touch(entry);
  }

  /** The ring has dropped it. */
  forget(entry: JobEntry | WorkflowEntry): void {
    if (entry.kind === 'job') this.#jobs.remove(entry);
    else this.#workflows.remove(entry);
  }

  clear(): void {
    this.#jobs.clear();
    this.#workflows.clear();
  }

  #workflow(info: WorkflowInfo): WorkflowEntry {
    const known = this.#workflows.find(info.instanceId, ({ outcome }) => outcome === 'started');
    if (known !== undefined) return known;
    const entry = new WorkflowEntry(this.#deps.now(), info);
    this.#deps.ring.add(entry);
    this.#workflows.add(entry);
    return entry;
  }
}
