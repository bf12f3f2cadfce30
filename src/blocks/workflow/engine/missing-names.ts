import type { Timer } from '../../../util/clock.ts';
import { NOT_REGISTERED, type WorkflowFailure } from '../model/failure.ts';
import type { WorkflowMissingCode } from '../model/instance.ts';
import type { WorkflowsDeps } from './workflows-deps.ts';

/** The dependencies of {@link MissingNames}. */
export interface MissingNamesDeps extends Pick<WorkflowsDeps, 'clock' | 'logger' | 'missingCodeTimeoutMs'> {
  readonly kind: WorkflowMissingCode['kind'];
  readonly isThere: (name: string) => boolean;
  /** Whether another host may have the code: the warning comes when none has shown it in time. Default: no. */
  readonly mayBeElsewhere?: () => boolean;
  /** The timeout for a name's code expired. */
  readonly onOverdue: (name: string) => void;
}

interface Missing {
  readonly timer: Timer | undefined;
  readonly warning: Timer | undefined;
  isOverdue: boolean;
}

/** How long other hosts have to show that they have some code before it counts as code that no host has. */
const TOLD_AFTER_MS = 5_000;

/** Names of unregistered code that instances need. Warns once per name. */
export class MissingNames {
  readonly #deps: MissingNamesDeps;
  readonly #names = new Map<string, Missing>();
  /** Names of code that another host has shown to have. */
  readonly #elsewhere = new Set<string>();

  constructor(deps: MissingNamesDeps) {
    this.#deps = deps;
  }

  /** An instance needs unregistered code. Returns whether it should wait for it. */
  waitsFor(name: string, instanceId: string, reason?: string): boolean {
    if (this.#elsewhere.has(name)) return true;
    const missing = this.#names.get(name) ?? this.#note(name, instanceId, reason);
    return !missing.isOverdue;
  }

  #note(name: string, instanceId: string, reason: string | undefined): Missing {
    const { clock, missingCodeTimeoutMs: timeoutMs, mayBeElsewhere, onOverdue } = this.#deps;
    const onTime = (): void => {
      missing.isOverdue = true;
      onOverdue(name);
    };
    const timer = timeoutMs === undefined || timeoutMs === 0 ? undefined : clock.setTimeout(onTime, timeoutMs);
    const warn = (): void => this.#warn(name, instanceId, reason);
    const isOverdue = timeoutMs === 0;
    const isLate = !isOverdue && mayBeElsewhere?.() === true;
    const missing: Missing = { timer, isOverdue, warning: isLate ? clock.setTimeout(warn, TOLD_AFTER_MS) : undefined };
    this.#names.set(name, missing);
    if (!isOverdue && !isLate) warn();
    return missing;
  }

  #warn(name: string, instanceId: string, reason: string | undefined): void {
    const { kind, logger } = this.#deps;
    logger.warn(
      { [kind]: name, instanceId, ...(reason === undefined ? undefined : { reason }) },
      kind === 'patch'
        ? `instances wait for newer code: that of their workflow does not ask for patch ${JSON.stringify(name)}`
        : `instances wait for the code of ${kind} ${JSON.stringify(name)}: register it, or terminate them`,
    );
  }

  /** Another host has shown that it has some code: what waits for that waits for a host, however long. */
  isElsewhere(name: string): void {
    this.#elsewhere.add(name);
    this.#forget(name);
  }

  /** Hosts came or went: `names` are those of the code that others use now. Returns whether some may be missing now. */
  hostsChanged(names: Iterable<string>): boolean {
    const count = this.#elsewhere.size;
    const used = new Set(names);
    for (const name of this.#elsewhere) if (!used.has(name)) this.#elsewhere.delete(name);
    return this.#elsewhere.size < count;
  }

  #forget(name: string): void {
    const missing = this.#names.get(name);
    missing?.timer?.cancel();
    missing?.warning?.cancel();
    this.#names.delete(name);
  }

  /** Code was registered. Returns whether any of it was missing. */
  codeChanged(): boolean {
    let isFound = false;
    for (const name of [...this.#names.keys(), ...this.#elsewhere]) {
      if (!this.#deps.isThere(name)) continue;
      this.#elsewhere.delete(name);
      this.#forget(name);
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
    for (const { timer, warning } of this.#names.values()) {
      timer?.cancel();
      warning?.cancel();
    }
  }
}
