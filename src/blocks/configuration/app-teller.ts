import type { AppCall, AppReply } from '../../app/channel.ts';
import type { ConfigurationItem } from '../../components/configuration-store.ts';
import type { Policy } from '../../resiliency/policy.ts';
import type { CancelToken } from '../../util/cancel-token.ts';
import type { BlockDeps } from '../block-deps.ts';
import { logged, thrown } from '../failure.ts';
import { renderItem } from './render-item.ts';

/** The part of the application's channel that changes use. */
export interface ConfigurationApp {
  call(call: AppCall): Promise<AppReply>;
}

/** The dependencies of an {@link AppTeller}. */
export interface AppTellerDeps extends Pick<BlockDeps, 'logger' | 'work'> {
  readonly app: ConfigurationApp;
  /** The application's time limit, in milliseconds; 0 for no limit. */
  readonly timeLimitMs: number;
  readonly storeName: string;
  /** The policy of changes; `undefined` if none applies. */
  readonly policy: Policy | undefined;
}

const REMEDY = 'the limit is deliveryTimeout (insidecar run: --delivery-timeout); 0 is no limit';

/** Tells changes to the application, for one subscription. */
export class AppTeller {
  readonly #deps: AppTellerDeps;
  readonly #id: string;

  constructor(id: string, deps: AppTellerDeps) {
    this.#id = id;
    this.#deps = deps;
  }

  /** Tells one change. A failure is logged, and the subscription goes on. */
  async tell(key: string, item: ConfigurationItem | undefined, cancel: CancelToken): Promise<void> {
    const { storeName, work, logger } = this.#deps;
    const done = work.begin(`telling a change of configuration store ${storeName}`);
    const about = { store: storeName, key, subscription: this.#id };
    try {
      const { status } = await this.#send(this.#callOf(key, item), cancel);
      if (!isSuccess(status)) logger.warn({ ...about, status }, 'the application has refused a configuration change');
    } catch (error) {
      if (!cancel.aborted)
        logger.warn({ ...about, ...logged(thrown(error)) }, 'the application did not get a configuration change');
    } finally {
      done();
    }
  }

  #send(call: AppCall, cancel: CancelToken): Promise<AppReply> {
    const { app, policy } = this.#deps;
    if (policy === undefined) return app.call(call);
    return policy.run(
      cancel,
      () => app.call(call),
      (outcome) => {
        if ('error' in outcome) return 'retry';
        // Redirections are no success here, although policies take them for one.
        return isSuccess(outcome.value.status) ? 'success' : failureOf(policy, outcome.value.status);
      },
    );
  }

  #callOf(key: string, item: ConfigurationItem | undefined): AppCall {
    const items = Object.fromEntries([[key, item === undefined ? {} : renderItem(item)]]);
    return {
      method: 'POST',
      url: `/configuration/${encodeURIComponent(this.#deps.storeName)}/${encodeURIComponent(key.toWellFormed())}`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ id: this.#id, items })),
      timeLimitMs: this.#deps.timeLimitMs,
      remedy: REMEDY,
    };
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function failureOf(policy: Policy, status: number): 'retry' | 'failure' {
  return policy.verdictOf(status) === 'retry' ? 'retry' : 'failure';
}
