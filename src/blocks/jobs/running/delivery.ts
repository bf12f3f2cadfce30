import { isNoConnection } from '../../../app/no-connection.ts';
import { EMPTY_BODY, type HeaderMap } from '../../../http/message.ts';
import { type Observation, observe } from '../../../probe.ts';
import type { StoredJob } from '../../../timed/job.ts';
import type { MissingTarget } from '../../../timed/running/job-offers.ts';
import type { Due } from '../../../timed/running/stored-jobs.ts';
import type { AttemptOutcome, NamedLimits, Target, Targets } from '../../../timed/running/target.ts';
import { type CodeCall, CodeCalls } from '../../../util/code-calls.ts';
import { isWorthRetrying } from '../../../util/retry-options.ts';
import { isPromise, parseWith } from '../../../util/standard-schema.ts';
import type { Work } from '../../../util/work.ts';
import type { Workplace } from '../../../util/workplaces.ts';
import { type Failure, thrown } from '../../failure.ts';
import { misfit } from '../model/define-job.ts';
import type { JobContext } from '../model/job.ts';
import type { JobHandlers, RegisteredHandler } from './handlers.ts';
import type { JobApp, JobsDeps } from './jobs-deps.ts';
import { RoutelessJobs } from './routeless.ts';
import { UnhandledJobs } from './unhandled.ts';

const DONE: AttemptOutcome = { kind: 'done' };
const HEADERS: HeaderMap = { 'content-type': 'application/json' };
/** Where the time limit of a run can be changed. */
const REMEDY = 'the limit is jobs.timeout (insidecar run: --job-timeout); 0 is no limit';

/** The dependencies of {@link JobDelivery}. */
export type JobDeliveryDeps = Pick<JobsDeps, 'app' | 'timeLimitMs' | 'clock' | 'logger' | 'apart' | 'probe'>;

/** Runs jobs by a function in code, or by the application. */
export class JobDelivery implements Targets {
  readonly routeless: RoutelessJobs = new RoutelessJobs();
  /** Jobs that were due without a function or application. */
  readonly unhandled: UnhandledJobs;
  readonly #deps: JobDeliveryDeps;
  readonly #handlers: JobHandlers;
  readonly #calls: CodeCalls;

  constructor(deps: JobDeliveryDeps, handlers: JobHandlers) {
    this.#deps = deps;
    this.#handlers = handlers;
    this.#calls = new CodeCalls(deps);
    this.unhandled = new UnhandledJobs(deps.logger);
  }

  /** Where the functions run. Set it before the first run. */
  set workplace(workplace: Workplace) {
    this.#calls.workplace = workplace;
  }

  /** A running call of a job's function by another sidecar of this process; a new run must wait for its end. */
  elsewhere(name: string): CodeCall | undefined {
    return this.#calls.elsewhere(name);
  }

  /** The current target of a job; `undefined` when there is neither a function nor an application. */
  targetOf(name: string): Target | undefined {
    const handler = this.#handlers.find(name);
    if (handler !== undefined) return (job, data) => this.#runInCode(handler, job, data);
    const { app } = this.#deps;
    if (app === undefined || !app.monitor.isPresent || this.routeless.has(name)) return undefined;
    return (job, data) =>
      this.#observed('', job, (observation) => this.#callApp(app, job, { data, headers: observation?.headers() }));
  }

  limitsOf(name: string): NamedLimits | undefined {
    const handler = this.#handlers.find(name);
    return handler && { name: handler.pattern, limits: handler.limits };
  }

  /** What a job without target lacks. */
  lackOf(name: string): MissingTarget {
    return { kind: 'job', name, ...(this.routeless.has(name) ? { needsFunction: true } : undefined) };
  }

  /** Whether this host has what a job lacks. */
  fits({ name, needsFunction = false }: MissingTarget): boolean {
    if (!needsFunction || this.routeless.isLeft(name)) return this.targetOf(name) !== undefined;
    return this.#handlers.find(name) !== undefined;
  }

  onNoTarget(due: Due): void {
    if (this.routeless.leave(due.job.name)) return;
    // If there is an application, the job waits for it.
    if (this.#deps.app === undefined) this.unhandled.add(due);
  }

  onUndelivered(reason: string): void {
    this.#deps.app?.monitor.reportUnreachable(reason);
  }

  /** Waits for `work`, the current runs, within the grace period of a stop. */
  stop(work: Work, gracePeriodMs: number): Promise<void> {
    return this.#calls.stop(work, gracePeriodMs, new Error('the sidecar is stopping'));
  }

  /** Tells the probe of an attempt, if there is one. */
  #observed(
    handler: string,
    { name, tickAt, failures, trace }: StoredJob,
    run: (observation?: Observation) => Promise<AttemptOutcome>,
  ): Promise<AttemptOutcome> {
    const { probe } = this.#deps;
    if (probe === undefined) return run();
    const attempt = failures + 1;
    return observe(
      probe,
      { type: 'job', jobName: name, handler, attempt, dueAt: tickAt, trace },
      async (observation) => {
        const outcome = await run(observation);
        observation.end({ outcome: outcome.kind, failure: outcome.kind === 'done' ? undefined : outcome });
        return outcome;
      },
    );
  }

  async #callApp(app: JobApp, job: StoredJob, { data, headers }: AppRun): Promise<AttemptOutcome> {
    const { logger, timeLimitMs } = this.#deps;
    const body = data === undefined ? EMPTY_BODY : Buffer.from(data);
    try {
      const call = {
        method: 'POST',
        url: pathOf(job.name),
        headers: { ...HEADERS, ...headers },
        body,
        timeLimitMs,
        remedy: REMEDY,
      };
      const { status } = await app.call(call);
      if (status >= 200 && status <= 299) return DONE;
      if (status !== 404) return this.#failed({ reason: `the application answered ${status}` });
      if (this.routeless.add(job.name)) return { kind: 'absent', reason: 'the application has no route' };
      logger.error({ job: job.name, status }, 'the application has no route for the job: the run counts as done');
      return DONE;
    } catch (error) {
      const failure = thrown(error);
      if (app.isRemote && isNoConnection(error)) return { kind: 'undelivered', reason: failure.reason };
      return this.#failed(failure);
    }
  }

  /** A run that a stop breaks off has not failed. */
  #failed(failure: Failure, isFinal = false): AttemptOutcome {
    return this.#calls.areEnding ? { kind: 'brokenOff', ...failure } : { kind: 'failed', ...failure, isFinal };
  }

  #isFinal({ retryIf }: RegisteredHandler, job: string, error: unknown): boolean {
    const onError = (thrown: unknown): void =>
      this.#deps.logger.error({ job, error: thrown }, 'retryIf of a job failed: the run will be tried again');
    return retryIf !== undefined && !isWorthRetrying(retryIf, error, onError);
  }

  /** Waits for the function without limit: the job's next run must not begin before it returns. */
  #runInCode(registered: RegisteredHandler, job: StoredJob, text: string | undefined): Promise<AttemptOutcome> {
    const { handler, timeLimitMs, pattern, schema } = registered;
    const run = async (): Promise<AttemptOutcome> => {
      const call = this.#calls.begin(job.name, timeLimitMs, () => ({ job: job.name, attempt: job.failures + 1 }));
      try {
        const given: unknown = text === undefined ? undefined : JSON.parse(text);
        const parsed = parseWith(schema, given, (problem) => misfit(job.name, problem));
        const data: unknown = isPromise(parsed) ? await parsed : parsed;
        await this.#deps.apart()(() => handler(data, new Context(job, call)));
        return DONE;
      } catch (error) {
        return this.#failed(thrown(error), this.#isFinal(registered, job.name, error));
      } finally {
        this.#calls.end(call);
      }
    };
    return this.#observed(pattern, job, run);
  }
}

/** A run by the application, beside its job. */
interface AppRun {
  readonly data: string | undefined;
  /** The fields of its trace. */
  readonly headers: HeaderMap | undefined;
}

class Context implements JobContext {
  readonly name: string;
  readonly dueAt: number;
  readonly attempt: number;
  readonly #call: CodeCall;

  constructor({ name, tickAt, failures }: StoredJob, call: CodeCall) {
    this.name = name;
    this.dueAt = tickAt;
    this.attempt = failures + 1;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

const PLAIN = /^[A-Za-z0-9_.~-]+$/;
/** Characters that encodeURIComponent escapes although a path may contain them (RFC 3986, section 3.3). */
const MAY_STAND = /%(?:24|26|2B|2C|3A|3B|3D|40)/g;

/** The route of a job: its name as one segment of a path. */
function pathOf(name: string): string {
  if (PLAIN.test(name)) return `/job/${name}`;
  return `/job/${encodeURIComponent(name).replace(MAY_STAND, decodeURIComponent)}`;
}
