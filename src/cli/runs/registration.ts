import type { Logger } from '../../util/logger.ts';
import type { HostedApp, Registered } from '../hosted-app.ts';
import { given } from '../settings.ts';
import { type RunInfo, type RunInspector, removeRunFile, writeRunFile } from './run-files.ts';
import type { SharedPlace } from './shared-place.ts';

/** The dependencies of a {@link Registration}. */
export interface RegistrationDeps {
  /** Where runs leave their files. */
  readonly directory: string;
  readonly shared: SharedPlace | undefined;
  readonly run: Pick<RunInfo, 'directory' | 'startedAt' | 'runFile'>;
  readonly logger: Logger;
}

/** What a run tells other commands of the user, in a file, from the start of its sidecars to their end. */
export class Registration implements Registered {
  readonly #deps: RegistrationDeps;
  readonly #apps: readonly HostedApp[];
  readonly #inspector: RunInspector | undefined;
  #isOver = false;

  private constructor(deps: RegistrationDeps, apps: readonly HostedApp[], inspector: RunInspector | undefined) {
    this.#deps = deps;
    this.#apps = apps;
    this.#inspector = inspector;
  }

  /**
   * @param apps - that have their ports, while none of their sidecars is started
   * @throws Failure if it shares state, and cannot tell others that it does
   */
  static open(deps: RegistrationDeps, apps: readonly HostedApp[], inspector: RunInspector | undefined): Registration {
    const registration = new Registration(deps, apps, inspector);
    const { shared } = deps;
    if (shared === undefined) registration.update();
    else shared.enter(registration.#info);
    return registration;
  }

  get #info(): RunInfo {
    const { shared, run } = this.#deps;
    return {
      pid: process.pid,
      ...run,
      ...given('shares', shared?.name),
      ...given('inspector', this.#inspector),
      apps: this.#apps.map(({ told }) => told),
    };
  }

  /** Tells of processes that have been started since. */
  update(): void {
    if (!this.#isOver) this.#try(() => writeRunFile(this.#info, this.#deps.directory));
  }

  ending(): void {
    this.#deps.shared?.expectNobody();
  }

  /** The sidecars have stopped. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { shared, directory } = this.#deps;
    const info = this.#info;
    this.#try(() => (shared === undefined ? removeRunFile(info, directory) : shared.leave(info)));
  }

  /** What others are told is not worth the end of a run. */
  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#deps.logger.warn({ error }, 'the file that tells other commands of this run could not be changed');
    }
  }
}
