import type { Timer } from '../../../util/clock.ts';
import { NOT_REGISTERED, type WorkflowFailure } from '../model/failure.ts';
import type { WorkflowMissingCode } from '../model/instance.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of {@link MissingNames}. */
export interface MissingNamesDeps extends Pick<WorkflowsDeps, 'clock' | 'logger' | 'missingCodeTimeoutMs'> {
  readonly kind: WorkflowMissingCode['kind'];
  readonly isThere: (name: string) => boolean;
  /** The timeout for a name's code expired. */
  readonly onOverdue: (name: string) => void;
}

interface Missing {
  readonly timer: Timer | undefined;
  isOverdue: boolean;
}

/** Names of unregistered code that instances need. Warns once per name. */
export class MissingNames {
  readonly #deps: MissingNamesDeps;
  readonly #names = new Map<string, Missing>();

  constructor(deps: MissingNamesDeps) {
    this.#deps = deps;
  }

  /** An instance needs unregistered code. Returns whether it should wait for it. */
  waitsFor(name: string, instanceId: string, reason?: string): boolean {
    const missing = this.#names.get(name) ?? this.#note(name, instanceId, reason);
    return !missing.isOverdue;
  }

  #note(name: string, instanceId: string, reason: string | undefined): Missing {
    const { kind, clock, logger, missingCodeTimeoutMs: timeoutMs, onOverdue } = this.#deps;
    const onTime = (): void => {
      missing.isOverdue = true;
      onOverdue(name);
    };
    const timer = timeoutMs === undefined || timeoutMs === 0 ? undefined : clock.setTimeout(onTime, timeoutMs);
    const missing: Missing = { timer, isOverdue: timeoutMs === 0 };
    this.#names.set(name, missing);
    if (!missing.isOverdue)
      logger.warn(
        { [kind]: name, instanceId, ...(reason === undefined ? undefined : { reason }) },
        kind === 'patch'
          ? `instances wait for newer code: that of their workflow does not ask for patch ${JSON.stringify(name)}`
          : `instances wait for the code of ${kind} ${JSON.stringify(name)}: register it, or terminate them`,
      );
    return missing;
  }

  /** Code was registered. Returns whether any of it was missing. */
  codeChanged(): boolean {
    let isFound = false;
    for (const [name, { timer }] of this.#names) {
      if (!this.#deps.isThere(name)) continue;
      timer?.cancel();
      this.#names.delete(name);
      isFound = true;
    }
    return isFound;
  }

  /** The failure of an instance or activity that has waited too long. */
  failureOf(name: string): WorkflowFailure {
    const { kind, missingCodeTimeoutMs: timeoutMs = 0 } = this.#deps;
    const waited = timeoutMs === 0 ? '' : `, and was not within ${timeoutMs} ms`;
    return { errorType: NOT_REGISTERED, message: `${kind} ${JSON.stringify(name)} is not registered${waited}` };
  }

  stop(): void {
    for (const { timer } of this.#names.values()) timer?.cancel();
  }
}
