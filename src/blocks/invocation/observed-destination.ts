import {
  cancelTokenOf,
  PlainRequest,
  requestTarget,
  type SidecarRequest,
  type SidecarResponse,
} from '../../http/message.ts';
import { observe, type Probe } from '../../probe.ts';
import type { Policy } from '../../resiliency/policy.ts';
import type { Destination } from './destination.ts';
import type { Fields } from './headers.ts';

/** Tells the probe of every attempt of one call, and passes its trace on. */
export class ObservedDestination implements Destination {
  readonly #destination: Destination;
  readonly #target: string;
  readonly #probe: Probe;
  #resends = 0;

  constructor(destination: Destination, target: string, probe: Probe) {
    this.#destination = destination;
    this.#target = target;
    this.#probe = probe;
  }

  get isOwn(): boolean {
    return this.#destination.isOwn;
  }

  get callerId(): string | undefined {
    return this.#destination.callerId;
  }

  policy(path: string): Policy | undefined {
    return this.#destination.policy(path);
  }

  addTo(fields: Fields): Fields {
    return this.#destination.addTo(fields);
  }

  pathOf(path: string): string {
    return this.#destination.pathOf(path);
  }

  /** The own application gets the trace of the present operation: the call to it is a part of that. */
  send(request: SidecarRequest): Promise<SidecarResponse> {
    const probe = this.#probe;
    if (this.isOwn) return this.#destination.send(withFields(request, probe.headers()));
    const resends = this.#resends++;
    const operation = { type: 'invoke', target: this.#target, method: request.method, resends } as const;
    return observe(probe, operation, async (observation) => {
      const traced = withFields(request, observation.headers());
      const response = await probe.quietly(() => this.#destination.send(traced));
      observation.end({ status: response.status });
      return response;
    });
  }

  isUnreached(error: unknown): boolean {
    return this.#destination.isUnreached(error);
  }
}

/** The fields replace those of the same name, which are of the operation before. */
function withFields(request: SidecarRequest, fields: SidecarRequest['headers']): SidecarRequest {
  const { method, headers, body } = request;
  const merged = { ...headers, ...fields };
  return new PlainRequest(method, requestTarget(request), merged, body, cancelTokenOf(request));
}
