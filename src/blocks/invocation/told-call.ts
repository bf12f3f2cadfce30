import type { Trace } from '../../components/pubsub.ts';
import type { SidecarEventEmitter } from '../../events.ts';
import type { SidecarRequest } from '../../http/message.ts';
import { traceOfHeaders } from '../../http/trace-headers.ts';
import type { Probe } from '../../probe.ts';
import type { Clock } from '../../util/clock.ts';
import type { CallAddress } from './address.ts';
import type { Destination } from './destination.ts';
import type { Attempts } from './send-with-retry.ts';

interface ToldCallDeps {
  readonly events: SidecarEventEmitter;
  readonly clock: Clock;
  readonly probe: Probe | undefined;
}

/** A call whose end is reported to the listeners of `invocationEnded`. */
export class ToldCall implements Attempts {
  attempts = 0;
  readonly #deps: ToldCallDeps;
  readonly #address: CallAddress;
  readonly #request: SidecarRequest;
  readonly #to: Destination;
  readonly #startedAt: number;

  private constructor(deps: ToldCallDeps, address: CallAddress, request: SidecarRequest, to: Destination) {
    this.#deps = deps;
    this.#address = address;
    this.#request = request;
    this.#to = to;
    this.#startedAt = deps.clock.now();
  }

  /** `undefined` without a listener. */
  static begin(
    deps: ToldCallDeps,
    address: CallAddress,
    request: SidecarRequest,
    to: Destination,
  ): ToldCall | undefined {
    return deps.events.listenerCount('invocationEnded') > 0 ? new ToldCall(deps, address, request, to) : undefined;
  }

  /** `status` is 0 if there was no response. */
  end(status: number): void {
    const { events, clock } = this.#deps;
    const { target, path } = this.#address;
    const { callerId: caller, isOwn } = this.#to;
    const trace = this.#trace();
    events.emit('invocationEnded', {
      direction: isOwn ? 'in' : 'out',
      target,
      ...(caller === undefined ? undefined : { caller }),
      method: this.#request.method,
      path,
      status,
      attempts: this.attempts,
      durationMs: clock.now() - this.#startedAt,
      ...(trace === undefined ? undefined : { trace }),
    });
  }

  #trace(): Trace | undefined {
    return this.#deps.probe?.current() ?? traceOfHeaders(this.#request.headers);
  }
}
