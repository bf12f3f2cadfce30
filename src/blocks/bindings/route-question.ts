import { messageOf } from '../../errors.ts';
import { EMPTY_BODY } from '../../http/message.ts';
import { askAgain } from '../ask-again.ts';
import type { BindingApp, BindingsServiceDeps } from './bindings-deps.ts';

/** The dependencies of a {@link RouteQuestion}. */
export interface RouteQuestionDeps extends Pick<BindingsServiceDeps, 'clock' | 'logger' | 'random' | 'monitor'> {
  readonly app: BindingApp;
  /** The name of the binding. */
  readonly name: string;
  readonly route: string;
  /** Told once, whether the application has the route. */
  readonly answered: (hasRoute: boolean) => void;
}

/** Time limit for the application's answer. */
const TIME_LIMIT_MS = 10_000;

/** Asks the application with `OPTIONS` whether it wants the events of a binding, until it has answered. */
export class RouteQuestion {
  readonly #deps: RouteQuestionDeps;
  readonly #stopping = new AbortController();
  #isAnswered = false;

  constructor(deps: RouteQuestionDeps) {
    this.#deps = deps;
  }

  /** The application has come. Resolves after the first attempt; if that gives no answer, asks again in the background. */
  async ask(): Promise<void> {
    if (this.#isAnswered) return;
    const { clock, random, monitor } = this.#deps;
    const epoch = monitor?.epoch;
    if (await this.#askOnce()) return;
    const isSameApp = (): boolean => epoch === monitor?.epoch;
    void askAgain(() => this.#askOnce(), { clock, random, stopping: this.#stopping.signal, isSameApp });
  }

  stop(): void {
    this.#stopping.abort(new Error('the sidecar is stopping'));
  }

  async #askOnce(): Promise<boolean> {
    const { app, name, route, answered, logger } = this.#deps;
    let problem: string;
    try {
      const { status } = await app.call({
        ...{ method: 'OPTIONS', url: route, headers: {}, body: EMPTY_BODY, timeLimitMs: TIME_LIMIT_MS },
      });
      const hasRoute = (status >= 200 && status <= 299) || status === 405;
      if (this.#isAnswered || this.#stopping.signal.aborted) return true;
      if (hasRoute || status === 404) {
        this.#isAnswered = true;
        if (!hasRoute) logger.info({ binding: name, route }, 'the application has no route for the input binding');
        answered(hasRoute);
        return true;
      }
      problem = `it answered ${status}`;
    } catch (error) {
      if (this.#stopping.signal.aborted) return true;
      problem = messageOf(error);
    }
    const message = 'the application could not be asked whether it wants an input binding: will be tried again';
    logger.warn({ binding: name, route, problem }, message);
    return false;
  }
}
