import type { AppMonitor } from '../../../app/app-monitor.ts';
import type { AppCall, AppChannel, AppReply } from '../../../app/channel.ts';
import { isNoConnection } from '../../../app/no-connection.ts';
import { messageOf, type SidecarError, shortened } from '../../../errors.ts';
import { endToEnd } from '../../../http/end-to-end.ts';
import { asHeaderValue } from '../../../http/header-value.ts';
import { EMPTY_BODY, type HeaderMap, headerOf } from '../../../http/message.ts';
import { isTruthy } from '../../../util/is-truthy.ts';
import type { Logger } from '../../../util/logger.ts';
import type { Wire } from '../../../wire.ts';
import { thrown } from '../../failure.ts';
import type { ActorAddress } from '../model/address.ts';
import type { ActorCall, ActorCaller, ActorReply } from '../model/call.ts';
import { answerTooLarge, invokeFailed } from '../model/errors.ts';
import type { ActorTick, TickOutcome } from '../model/tick.ts';
import type { ActiveActor } from '../turns/active-actor.ts';
import type { ActorHosting } from './hosted-types.ts';

/** How long the application may take to answer that an actor is to be deactivated. */
const DEACTIVATION_MS = 15_000;
/** How much of the answer to a call that has failed is told to the caller. */
const MAX_TOLD_CHARACTERS = 4_096;

/** The dependencies of {@link AppActors}. */
export interface AppActorsDeps {
  readonly app: Pick<AppChannel, 'call' | 'address'>;
  readonly monitor: AppMonitor;
  readonly wire: Wire;
  readonly logger: Logger;
  readonly bodyLimitBytes: number;
  /** The header fields of the present trace. */
  readonly traceHeaders: () => HeaderMap;
}

/** Actors in an application: it gets a `PUT` for each turn, and a `DELETE` for each actor that becomes inactive. */
export class AppActors implements ActorHosting {
  readonly #deps: AppActorsDeps;

  constructor(deps: AppActorsDeps) {
    this.#deps = deps;
  }

  get isPresent(): boolean {
    return this.#deps.monitor.isPresent;
  }

  async call(actor: ActiveActor, call: ActorCall, caller: ActorCaller): Promise<ActorReply> {
    const { address } = actor;
    const { headers: names, actorRules } = this.#deps.wire;
    const { method, search, body, chain } = call;
    if (!this.#deps.monitor.isHealthy) throw invokeFailed(address, 'the application is not healthy');
    const path = `${pathOf(address)}/method/${method.split('/').map(encodeURIComponent).join('/')}`;
    const headers = {
      ...call.headers,
      ...this.#deps.traceHeaders(),
      ...actorRules.callHeaders,
      [names.callerAppId]: asHeaderValue(caller.appId),
      [names.callerNamespace]: asHeaderValue(caller.namespace),
      ...this.#chainHeader(chain),
    };
    const reply = await this.#ask(actor, { url: search === '' ? path : `${path}?${search}`, headers, body });
    const { status } = reply;
    if (status < 200 || status > 299) throw failedWith(address, method, reply);
    if (reply.body.length > this.#deps.bodyLimitBytes) throw answerTooLarge(address, this.#deps.bodyLimitBytes);
    return { status, headers: endToEnd(reply.headers), body: reply.body };
  }

  async #ask(actor: ActiveActor, call: Pick<AppCall, 'url' | 'headers' | 'body'>): Promise<AppReply> {
    try {
      return await this.#deps.app.call({ ...call, method: 'PUT', timeLimitMs: 0 });
    } catch (error) {
      if (this.#isUnreached(error)) this.#noteUnreached(actor, error);
      throw invokeFailed(actor.address, `the application did not answer: ${messageOf(error)}`, error);
    }
  }

  async tick(actor: ActiveActor, tick: ActorTick, chain: string | undefined): Promise<TickOutcome> {
    const { app, monitor, wire } = this.#deps;
    if (!monitor.isHealthy) return { kind: 'undelivered', reason: 'the application is not healthy' };
    const callback = tick.kind === 'reminder' ? 'remind' : 'timer';
    const url = `${pathOf(actor.address)}/method/${callback}/${encodeURIComponent(tick.name)}`;
    const headers = {
      'content-type': 'application/json',
      ...this.#deps.traceHeaders(),
      ...this.#chainHeader(chain),
    };
    try {
      const reply = await app.call({ method: 'PUT', url, headers, body: tick.body, timeLimitMs: 0 });
      if (reply.status < 200 || reply.status > 299)
        return { kind: 'failed', reason: `the application answered ${reply.status}` };
      return { kind: 'done', isCanceled: isTruthy(headerOf(reply.headers, wire.actorRules.cancelHeader) ?? '') };
    } catch (error) {
      if (!this.#isUnreached(error)) return { kind: 'failed', ...thrown(error) };
      this.#noteUnreached(actor, error);
      return { kind: 'undelivered', reason: messageOf(error) };
    }
  }

  async deactivate({ address }: ActiveActor): Promise<void> {
    const { app, logger } = this.#deps;
    try {
      const call = { method: 'DELETE', url: pathOf(address), headers: {}, body: EMPTY_BODY };
      const { status } = await app.call({ ...call, timeLimitMs: DEACTIVATION_MS });
      if (status < 200 || status > 299)
        logger.info({ ...address, status }, 'the application answered an error to the deactivation of an actor');
    } catch (error) {
      logger.warn({ ...address, reason: messageOf(error) }, 'the application was not told that an actor is inactive');
    }
  }

  #chainHeader(chain: string | undefined): HeaderMap {
    return chain === undefined ? {} : { [this.#deps.wire.actorRules.chainHeader]: asHeaderValue(chain) };
  }

  #isUnreached(error: unknown): boolean {
    return this.#deps.app.address.port !== undefined && isNoConnection(error);
  }

  /** An application that comes back has none of its objects. */
  #noteUnreached(actor: ActiveActor, error: unknown): void {
    actor.isForgotten = true;
    this.#deps.monitor.reportUnreachable(messageOf(error));
  }
}

function pathOf({ actorType, actorId }: ActorAddress): string {
  return `/actors/${encodeURIComponent(actorType)}/${encodeURIComponent(actorId)}`;
}

function failedWith(address: ActorAddress, method: string, { status, body }: AppReply): SidecarError {
  const text = shortened(body.toString(), MAX_TOLD_CHARACTERS);
  if (status === 404)
    return invokeFailed(
      address,
      `method ${JSON.stringify(method)} was not found: the application answered 404 ${text}`,
    );
  return invokeFailed(address, `the application answered ${status} ${text}`);
}
