import { messageOf } from '../../../errors.ts';
import { askAgain } from '../../ask-again.ts';
import type { DeliveryDeps } from './delivery-deps.ts';
import { discoverSubscriptions } from './discovery.ts';

/** Dependencies of {@link AppSubscriptions}. */
export interface AppSubscriptionsDeps
  extends Pick<DeliveryDeps, 'appId' | 'wire' | 'clock' | 'logger' | 'random' | 'monitor' | 'call'> {
  /** Takes the application's answer, unchecked. */
  readonly take: (list: readonly unknown[]) => Promise<void>;
}

/** Asks the application for its subscriptions whenever it comes, until it has answered with a list. */
export class AppSubscriptions {
  readonly #deps: AppSubscriptionsDeps;
  readonly #stopping = new AbortController();
  #hasToldNoRoute = false;

  constructor(deps: AppSubscriptionsDeps) {
    this.#deps = deps;
  }

  /** The application has come. Resolves after the first answer; if that is unusable, asks again in the background. */
  async ask(): Promise<void> {
    const epoch = this.#epoch;
    if (await this.#askOnce(epoch)) return;
    const { clock, random } = this.#deps;
    const stopping = this.#stopping.signal;
    const isSameApp = (): boolean => epoch === this.#epoch;
    void askAgain(() => this.#askOnce(epoch), { clock, random, stopping, isSameApp });
  }

  stop(): void {
    this.#stopping.abort(new Error('the sidecar is stopping'));
  }

  get #epoch(): number | undefined {
    return this.#deps.monitor?.epoch;
  }

  async #askOnce(epoch: number | undefined): Promise<boolean> {
    const { call, wire, appId, logger, take } = this.#deps;
    try {
      const list = await discoverSubscriptions(call, wire, appId, (status) => this.#tellNoRoute(status));
      // The next application may have other subscriptions.
      if (epoch === this.#epoch) await take(list);
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      logger.warn(
        { error: messageOf(error) },
        'the application could not be asked for its subscriptions: will be tried again',
      );
      return false;
    }
  }

  /** Once: an application that comes back answers the same. */
  #tellNoRoute(status: number): void {
    const { logger, wire } = this.#deps;
    if (!this.#hasToldNoRoute)
      logger.info(
        { status },
        `GET ${wire.subscribePath} answered ${status}: the application has no such route, so no subscriptions`,
      );
    this.#hasToldNoRoute = true;
  }
}
