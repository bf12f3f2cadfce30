import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { sharedState } from '../../cluster/shared-state.ts';
import { directoryState } from '../../components/embedded/directory-state.ts';
import { STARTUP_LIMITS } from '../../components/startup-period.ts';
import { messageOf } from '../../errors.ts';
import type { IdentityOptions } from '../../security/identity-options.ts';
import type { StateDefinition } from '../../state/store.ts';
import type { Clock } from '../../util/clock.ts';
import type { ExpectedOne } from '../../util/expected.ts';
import { VERSION } from '../../version.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { liveRunsIn, type RunInfo, removeRunFile, writeRunFile } from './run-files.ts';
import { RunLock } from './run-lock.ts';
import { secretIn } from './run-secret.ts';

/** Releases may store other formats: each has a directory of its own. */
const NAME = `shared-${VERSION}`;
/** In the place of their names, which nobody knows yet. */
const LATER = 'commands that start later';

/**
 * The state that the commands of a user share, in a directory beside the files of their runs. It is there as long as a
 * command uses it: the last one removes it, or after a kill the next one.
 */
export class SharedPlace {
  readonly name: string = NAME;
  /** For the log. */
  readonly inWords = 'shared with the other commands of this user, until the last one ends';
  readonly #directory: string;
  readonly #path: string;
  readonly #lock: RunLock;
  readonly #later = new Set<ExpectedOne>();

  private constructor(directory: string, lock: RunLock) {
    this.#directory = directory;
    this.#path = join(directory, NAME);
    this.#lock = lock;
  }

  /** @throws StateError `driver-missing` on a Node without SQLite. */
  static async in(directory: string): Promise<SharedPlace> {
    return new SharedPlace(directory, await RunLock.of(directory));
  }

  /** Proves to the other commands which application calls. @throws Failure if the secret cannot be kept. */
  get identity(): IdentityOptions {
    return { keys: [{ secret: this.#try(() => secretIn(this.#directory)) }] };
  }

  /** The state, for all applications of a run. It ends with the last command, so nothing of it is synced to the disk. */
  state(watched: (definition: StateDefinition) => StateDefinition, clock: Clock): StateDefinition {
    const { expectedOn, ...definition } = sharedState(watched(directoryState(this.#path, { isTransient: true })));
    if (expectedOn === undefined) return definition;
    const components = new Set<string>();
    return {
      ...definition,
      expectedOn: (component) => {
        const expected = expectedOn(component);
        if (!components.has(component)) {
          components.add(component);
          this.#later.add(expected.add(LATER));
          clock.setTimeout(() => this.expectNobody(), STARTUP_LIMITS.ms);
        }
        return expected;
      },
    };
  }

  /** From now on, messages are not kept for commands that start later. */
  expectNobody(): void {
    for (const one of this.#later) one.come();
    this.#later.clear();
  }

  /** Joins those who use the state. What is left of others, who were killed, is removed. @throws Failure */
  enter(info: RunInfo): void {
    this.#try(() =>
      this.#lock.hold(() => {
        this.#removeUnused();
        writeRunFile(info, this.#directory);
      }),
    );
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const why = `what this command shares with others cannot be kept in ${JSON.stringify(this.#directory)}`;
      throw new CommandFailure(`${why}: ${messageOf(error)}. Use --isolated to share nothing`, EXIT.failed, error);
    }
  }

  /** Leaves. The last one removes the state. */
  leave(info: RunInfo): void {
    this.#lock.hold(() => {
      removeRunFile(info, this.#directory);
      this.#removeUnused();
    });
  }

  #removeUnused(): void {
    if (liveRunsIn(this.#directory).some(({ shares }) => shares === NAME)) return;
    rmSync(this.#path, { recursive: true, force: true });
  }
}
