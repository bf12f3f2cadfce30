import { isStateError } from '../state/errors.ts';
import type { StateDefinition, StateStore } from '../state/store.ts';
import { type Clock, sleep } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { EXIT } from './failure.ts';
import { HostedApp, type OpenInspector, type Registered, type SessionDeps } from './hosted-app.ts';
import type { Loggers } from './log.ts';
import type { Ending } from './process/command.ts';
import type { AppSettings } from './settings.ts';

/** Time limit of everything after a second stop request. */
const IMPATIENT_MS = 1_000;

/** How long the answer to a forced shutdown may take to be sent. */
const LAST_ANSWER_MS = 100;

/** Why a run ends. */
export type StopReason =
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** An application has ended, and the run with it. */
  | { readonly kind: 'ended' }
  /** `POST /v1.0/shutdown`. */
  | { readonly kind: 'shutdown' }
  | { readonly kind: 'failed'; readonly code: number };

/** Stop requests: the first one gives the reason, a second signal makes it urgent. */
export class StopRequests {
  readonly asked: Promise<StopReason>;
  readonly urged: Promise<void>;
  /** Resolves when the run is to end without waiting for anything. */
  readonly forced: Promise<void>;
  #ask: (reason: StopReason) => void = () => undefined;
  #urge: () => void = () => undefined;
  #force: () => void = () => undefined;
  #isAsked = false;

  constructor() {
    this.asked = new Promise((resolve) => {
      this.#ask = resolve;
    });
    this.urged = new Promise((resolve) => {
      this.#urge = resolve;
    });
    this.forced = new Promise((resolve) => {
      this.#force = resolve;
    });
  }

  force(): void {
    this.#force();
  }

  ask(reason: StopReason): void {
    if (this.#isAsked && reason.kind === 'signal') this.#urge();
    this.#isAsked = true;
    this.#ask(reason);
  }
}

/** A run: applications with their sidecars, from start to end. */
export class Session {
  readonly #apps: HostedApp[] = [];
  readonly #endings = new Map<HostedApp, Ending>();
  readonly #deps: SessionDeps;
  readonly #loggers: Loggers;
  readonly #stops: StopRequests;
  readonly #log: Logger;
  #inspector: OpenInspector | undefined;
  #registered: Registered | undefined;
  #isEnding = false;

  constructor(deps: SessionDeps, loggers: Loggers, stops: StopRequests) {
    this.#deps = deps;
    this.#loggers = loggers;
    this.#stops = stops;
    this.#log = loggers('insidecar');
  }

  /** Runs to the end; returns the exit code. @throws the error that kept it from starting. */
  run(settings: readonly AppSettings[]): Promise<number> {
    return Promise.race([this.#runToEnd(settings), this.#stops.forced.then(() => this.#endAtOnce())]);
  }

  async #runToEnd(settings: readonly AppSettings[]): Promise<number> {
    const starting = this.#start(settings);
    const settled = starting.then(
      () => undefined,
      () => undefined,
    );
    try {
      await Promise.race([starting, this.#stops.asked]);
    } catch (error) {
      await this.#end({ kind: 'failed', code: EXIT.failed });
      throw error;
    }
    const reason = await this.#stops.asked;
    // A starting sidecar can be stopped only after its start; a hanging disk must not block the stop.
    this.#isEnding = true;
    const { clock, run } = this.#deps;
    const late = sleep(clock, run.gracePeriodMs).then(() => 'late');
    const isLate = (await Promise.race([settled, late, this.#stops.urged])) === 'late';
    if (isLate) this.#log.warn({}, 'the start takes too long: the command stops without waiting for it');
    return this.#end(reason, isLate ? Promise.resolve() : this.#stops.urged);
  }

  async #start(settings: readonly AppSettings[]): Promise<void> {
    // Open every port first: the most likely errors show before anything runs.
    for (const app of settings)
      this.#apps.push(await HostedApp.open(app, this.#loggers(app.appId, app.logLevel), this.#deps));
    this.#inspector = await this.#deps.openInspector?.(this.#apps);
    if (this.#isEnding) return;
    // Before anything opens a state that others share.
    this.#registered = this.#deps.register?.(this.#apps, this.#inspector?.access);
    for (const app of this.#apps) {
      if (this.#isEnding) return;
      app.sidecar.events.on('shutdownRequested', ({ isForced }) =>
        isForced ? this.#stops.force() : this.#stops.ask({ kind: 'shutdown' }),
      );
      await app.startSidecar();
    }
    // Start all sidecars before any command: the last one then receives what the first command sends at once.
    for (const app of this.#apps) {
      if (this.#isEnding) return;
      await app.startCommand();
      this.#registered?.update();
      void app.ended.then((ending) => this.#onEnded(app, ending));
    }
  }

  #onEnded(app: HostedApp, ending: Ending): void {
    this.#endings.set(app, ending);
    const how = ending.signal === undefined ? `with exit code ${ending.code}` : `by ${ending.signal}`;
    this.#loggers(app.appId)[ending.code === 0 || this.#isEnding ? 'info' : 'warn']({}, `the command has ended ${how}`);
    const { stopWhen } = this.#deps.run;
    const isLast = this.#apps.every((one) => this.#endings.has(one));
    const isEnough = stopWhen === 'any' || (stopWhen === 'failure' && ending.code !== 0);
    if (isLast || isEnough) this.#stops.ask({ kind: 'ended' });
  }

  /** As daprd: nothing is waited for but the answer to who asked for it. */
  async #endAtOnce(): Promise<number> {
    this.#isEnding = true;
    this.#log.warn({}, 'a forced shutdown was asked for: ending without waiting for anything');
    await sleep(this.#deps.clock, LAST_ANSWER_MS);
    for (const app of this.#running) app.signal('SIGKILL');
    return EXIT.failed;
  }

  /** @param urged - resolves when the stop must not wait any longer */
  async #end(reason: StopReason, urged = this.#stops.urged): Promise<number> {
    const byThemselves = [...this.#endings.values()];
    if (reason.kind === 'shutdown') this.#log.info({}, 'shutdown was asked for');
    const { clock, run } = this.#deps;
    const late = sleep(clock, run.gracePeriodMs).then(() => false);
    if (reason.kind !== 'failed') await Promise.race([this.#answered(), urged]);
    // Programs often ignore SIGPIPE, so send SIGTERM instead.
    await this.#stopCommands(reason.kind === 'signal' && reason.signal !== 'SIGPIPE' ? reason.signal : 'SIGTERM', late);
    this.#registered?.ending();
    const closed = Promise.all(this.#apps.map((app) => this.#close(app))).then(() => {
      this.#registered?.[Symbol.dispose]();
      return this.#inspector?.[Symbol.asyncDispose]();
    });
    await Promise.race([closed, urged.then(() => sleep(clock, IMPATIENT_MS))]);
    if (reason.kind === 'failed') return reason.code;
    const endings = reason.kind === 'ended' ? byThemselves : [...this.#endings.values()];
    return endings.find(({ code }) => code !== 0)?.code ?? 0;
  }

  /**
   * Lets responses in flight complete before their commands are stopped; keeps half of the time for the commands.
   * Without a command, stopping the sidecar waits for them.
   */
  async #answered(): Promise<void> {
    const gracePeriodMs = this.#deps.run.gracePeriodMs / 2;
    await Promise.all(this.#running.map((app) => app.answered(gracePeriodMs)));
  }

  get #running(): readonly HostedApp[] {
    return this.#apps.filter((app) => app.hasCommand && !this.#endings.has(app));
  }

  /** @param late - resolves when commands that are still running are to be killed */
  async #stopCommands(signal: NodeJS.Signals, late: Promise<boolean>): Promise<void> {
    const running = this.#running;
    if (running.length === 0) return;
    for (const app of running) app.signal(signal);
    const ended = Promise.all(running.map((app) => app.ended)).then(() => true);
    if (await Promise.race([ended, late, this.#stops.urged.then(() => false)])) return;
    this.#log.warn({}, 'killing commands that are still running');
    for (const app of running) app.signal('SIGKILL');
    await ended;
  }

  async #close(app: HostedApp): Promise<void> {
    try {
      await app.close();
    } catch (error) {
      this.#loggers(app.appId).error({ error }, 'the sidecar did not stop cleanly');
    }
  }
}

const STATE_PROBE_MS = 500;

/** Reports a store failure that only a restart can fix. */
export function watchState(definition: StateDefinition, clock: Clock, onLost: (error: Error) => void): StateDefinition {
  return {
    ...definition,
    open: async (context) => {
      const store = await definition.open(context);
      watch(store, clock, onLost);
      return store;
    },
  };
}

function watch(store: StateStore, clock: Clock, onLost: (error: Error) => void): void {
  const { failure } = store;
  if (isStateError(failure) && failure.kind === 'closed') return;
  if (isStateError(failure) && (failure.kind === 'corrupt' || failure.kind === 'failed')) return onLost(failure);
  clock.setTimeout(() => watch(store, clock, onLost), STATE_PROBE_MS);
}
