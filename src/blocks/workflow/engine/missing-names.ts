import type { Timer } from '../../../util/clock.ts';
import { NOT_REGISTERED, type WorkflowFailure } from '../model/failure.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** What to look after. */
export interface MissingNamesDeps {
  readonly kind: 'workflow' | 'activity';
  readonly host: Pick<WorkflowsDeps, 'clock' | 'logger' | 'missingCodeTimeoutMs'>;
  readonly isThere: (name: string) => boolean;
  /** The code of a name has been waited for as long as is allowed. */
  readonly onOverdue: (name: string) => void;
}

interface Missing {
  readonly timer: Timer | undefined;
  isOverdue: boolean;
}

/** Names of code that instances need and that is not registered. Each is warned about once. */
export class MissingNames {
  readonly #deps: MissingNamesDeps;
  readonly #names = new Map<string, Missing>();

  constructor(deps: MissingNamesDeps) {
    this.#deps = deps;
  }

  /** An instance needs the code of a name, which is not there. Answers whether it is to wait for it. */
  waitsFor(name: string, instanceId: string): boolean {
    const missing = this.#names.get(name) ?? this.#note(name, instanceId);
    return !missing.isOverdue;
  }

  #note(name: string, instanceId: string): Missing {
    const { kind, host, onOverdue } = this.#deps;
    const { clock, logger, missingCodeTimeoutMs: timeoutMs } = host;
    const onTime = (): void => {
      missing.isOverdue = true;
      onOverdue(name);
    };
    const timer = timeoutMs === undefined || timeoutMs === 0 ? undefined : clock.setTimeout(onTime, timeoutMs);
    const missing: Missing = { timer, isOverdue: timeoutMs === 0 };
    this.#names.set(name, missing);
    if (!missing.isOverdue)
      logger.warn(
        { [kind]: name, instanceId },
        `instances wait for the code of ${kind} ${JSON.stringify(name)}: register it, or terminate them`,
      );
    return missing;
  }

  /** Code was registered. Answers whether any of it was missing. */
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

  /** Why what has waited too long fails. */
  failureOf(name: string): WorkflowFailure {
    const { kind, host } = this.#deps;
    const { missingCodeTimeoutMs: timeoutMs = 0 } = host;
    const waited = timeoutMs === 0 ? '' : `, and was not within ${timeoutMs} ms`;
    return { errorType: NOT_REGISTERED, message: `${kind} ${JSON.stringify(name)} is not registered${waited}` };
  }

  stop(): void {
    for (const { timer } of this.#names.values()) timer?.cancel();
  }
}
