import type { AppMonitor } from '../../../app/app-monitor.ts';
import type { AppChannel } from '../../../app/channel.ts';
import { messageOf } from '../../../errors.ts';
import { asHeaderValue } from '../../../http/header-value.ts';
import { EMPTY_BODY } from '../../../http/message.ts';
import { cancelTokenOfSignal, unlessAborted } from '../../../util/cancel-token.ts';
import { sleep } from '../../../util/clock.ts';
import { askAgain } from '../../ask-again.ts';
import type { BlockDeps } from '../../block-deps.ts';
import { type ActorSettings, parseConfiguration } from '../model/configuration.ts';

/** Time limit for the application's answer. */
const TIME_LIMIT_MS = 10_000;
/** How long reminders wait for its first answer. */
const FIRST_ANSWER_MS = 5_000;
/** Statuses of applications that have no such route, or no actors. */
const NO_ACTORS: ReadonlySet<number> = new Set([204, 404, 405, 501]);

/** The dependencies of a {@link ConfigurationQuestion}. */
export interface ConfigurationQuestionDeps
  extends Pick<BlockDeps, 'appId' | 'wire' | 'clock' | 'logger' | 'random' | 'work'> {
  readonly app: Pick<AppChannel, 'call'>;
  readonly monitor: AppMonitor;
  readonly answered: (types: ReadonlyMap<string, ActorSettings>) => void;
  /** @throws Error for a type that an application cannot host */
  readonly check: (actorType: string) => void;
}

/**
 * Asks the application which actor types it hosts: whenever it comes, beside the question for its subscriptions, and
 * again with back-off until it has answered. Nothing waits for it.
 */
export class ConfigurationQuestion {
  readonly #deps: ConfigurationQuestionDeps;
  readonly #stopping = new AbortController();
  readonly #watch: Disposable;
  #wasUnreachable = false;
  /** Counts the times that the application has come: an answer to an earlier question is out of date. */
  #arrival = 0;
  /** Why the application that is there has no actors yet. */
  #problem: string | undefined;
  #tellAnswered: () => void = () => undefined;
  /** Resolves when the application has answered for the first time. */
  readonly #answered: Promise<void> = new Promise((resolve) => {
    this.#tellAnswered = resolve;
  });

  constructor(deps: ConfigurationQuestionDeps) {
    this.#deps = deps;
    this.#watch = deps.monitor.onChange((state) => {
      if (state === 'greeting' || (state === 'ready' && this.#wasUnreachable)) void this.#ask(++this.#arrival);
      this.#wasUnreachable = state === 'unreachable';
    });
  }

  /** Waits for the first answer of the application, 5 s at most. */
  async untilAnswered(): Promise<void> {
    const isOver = new AbortController();
    const limit = sleep(this.#deps.clock, FIRST_ANSWER_MS, isOver.signal).catch(() => undefined);
    await Promise.race([this.#answered, limit]).finally(() => isOver.abort());
  }

  /** Why the application that is there has not said which actors it hosts; `undefined` if it has, or is away. */
  get problem(): string | undefined {
    return this.#deps.monitor.isPresent ? this.#problem : undefined;
  }

  stop(): void {
    this.#watch[Symbol.dispose]();
    this.#stopping.abort(new Error('the sidecar is stopping'));
  }

  async #ask(arrival: number): Promise<void> {
    if (await this.#askOnce(arrival, true)) return;
    const { clock, random } = this.#deps;
    const stopping = this.#stopping.signal;
    const isSameApp = (): boolean => arrival === this.#arrival;
    await askAgain(() => this.#askOnce(arrival, false), { clock, random, stopping, isSameApp });
  }

  /** Returns whether there is no need to ask again. */
  async #askOnce(arrival: number, isFirst: boolean): Promise<boolean> {
    const { app, appId, wire, answered, logger, work } = this.#deps;
    const done = work.begin('asking the application for its actors');
    try {
      const headers = { accept: 'application/json', [wire.headers.appId]: asHeaderValue(appId) };
      const call = { method: 'GET', url: wire.configPath, headers, body: EMPTY_BODY, timeLimitMs: TIME_LIMIT_MS };
      const stopping = cancelTokenOfSignal(this.#stopping.signal);
      const { status, body } = await unlessAborted(app.call(call), stopping);
      if (arrival !== this.#arrival || this.#stopping.signal.aborted) return true;
      const types = NO_ACTORS.has(status) ? new Map<string, ActorSettings>() : this.#typesOf(status, body);
      this.#problem = undefined;
      answered(types);
      this.#tellAnswered();
      return true;
    } catch (error) {
      if (arrival !== this.#arrival || this.#stopping.signal.aborted) return true;
      const message = 'the application could not be asked for its actors: it has none until it answers';
      this.#problem = `the application could not be asked for its actors at ${wire.configPath}: ${messageOf(error)}`;
      // Once: an application that answers any path would fill the log.
      logger[isFirst ? 'warn' : 'debug']({ path: wire.configPath, problem: messageOf(error) }, message);
      return false;
    } finally {
      done();
    }
  }

  #typesOf(status: number, body: Buffer): ReadonlyMap<string, ActorSettings> {
    const { wire, logger } = this.#deps;
    if (status !== 200) throw new Error(`it answered ${status}`);
    const text = body.toString().trim();
    const answer: unknown = text === '' ? {} : JSON.parse(text);
    const warn = (problem: string): void =>
      logger.warn({ path: wire.configPath, problem }, 'the configuration of actors has a mistake');
    const types = parseConfiguration(answer ?? {}, wire.keysInAnyCase, warn);
    return new Map([...types].filter(([type]) => this.#canHost(type, warn)));
  }

  #canHost(actorType: string, warn: (problem: string) => void): boolean {
    try {
      this.#deps.check(actorType);
      return true;
    } catch (error) {
      warn(`${messageOf(error)}: it is left out`);
      return false;
    }
  }
}
