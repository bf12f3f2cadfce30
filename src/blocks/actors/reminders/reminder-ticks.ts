import type { StoredJob } from '../../../timed/job.ts';
import type {
  AttemptOutcome,
  AttemptPlace,
  RecordedAttempt,
  RunListener,
  Target,
  Targets,
} from '../../../timed/running/target.ts';
import { CancelSource } from '../../../util/cancel-token.ts';
import type { Clock } from '../../../util/clock.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Work } from '../../../util/work.ts';
import { logged } from '../../failure.ts';
import type { ActorTurns, PreparedEnd } from '../model/tick.ts';
import { tickNameOf } from './reminder-name.ts';
import { tickBody } from './render-tick.ts';
import { runInTurn } from './run-in-turn.ts';

/** The dependencies of {@link ReminderTicks}. */
export interface ReminderTicksDeps {
  readonly turns: ActorTurns;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs the ticks of reminders as turns of their actors. */
export class ReminderTicks implements Targets, RunListener {
  readonly #deps: ReminderTicksDeps;
  /** Cancels the ticks that wait for their turns when the sidecar stops. */
  readonly #stopping = new CancelSource();

  constructor(deps: ReminderTicksDeps) {
    this.#deps = deps;
  }

  targetOf(text: string): Target | undefined {
    const { turns } = this.#deps;
    if (!turns.canRun(tickNameOf(text).actorType)) return undefined;
    return (job, data, place) => this.#run(job, data, place);
  }

  /** A reminder has one turn at a time at one host, whatever other sidecars of the process do. */
  elsewhere(): undefined {
    return undefined;
  }

  /** It waits until its type can run here. */
  onNoTarget(): void {}

  /** The actors have noticed it: they say when they can run again. */
  onUndelivered(): void {}

  async stop(work: Work, gracePeriodMs: number): Promise<void> {
    this.#stopping.abort(new Error('the sidecar is stopping'));
    await work.idle(this.#deps.clock, gracePeriodMs);
  }

  async #run(job: StoredJob, data: string | undefined, place: AttemptPlace): Promise<AttemptOutcome> {
    const { name, ...address } = tickNameOf(job.name);
    const body = tickBody(job, data);
    const at = { dueAt: job.tickAt, attempt: job.failures + 1 };
    const begins = (): boolean | Promise<boolean> => place.retake();
    const prepareEnd = (isCanceled: boolean): Promise<PreparedEnd | undefined> => place.prepareEnd(isCanceled);
    const tick = { kind: 'reminder', name, body, ...at, cancel: this.#stopping, begins, prepareEnd } as const;
    const outcome = await runInTurn(this.#deps.turns, address, tick, place);
    return outcome.kind === 'done' ? { kind: 'done', isLast: outcome.isCanceled } : outcome;
  }

  onAttempt(): void {}

  onRecorded({ job, outcome, next }: RecordedAttempt): void {
    if (outcome.kind === 'done') return;
    const { logger } = this.#deps;
    const { name, actorType, actorId } = tickNameOf(job.name);
    const details = { reminder: name, actorType, actorId, attempt: job.failures + 1, ...logged(outcome) };
    if (next.kind === 'retry') logger.warn(details, 'a tick of a reminder failed: will be tried again');
    else logger.error(details, 'a tick of a reminder failed for good');
  }

  onGone(): void {}
}
