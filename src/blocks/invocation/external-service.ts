import { isNoConnection } from '../../app/no-connection.ts';
import type { SidecarRequest, SidecarResponse } from '../../http/message.ts';
import type { HttpClient } from '../../http/pool-client.ts';
import type { Policy, Resiliency } from '../../resiliency/policy.ts';
import type { Destination } from './destination.ts';
import type { BaseUrl, HttpEndpoint } from './endpoints.ts';
import type { Fields } from './headers.ts';

export interface ServiceDeps {
  /** The name of the endpoint, or the URL. */
  readonly name: string;
  readonly baseUrl: BaseUrl;
  /** Asked at each attempt: a pool may have retired the client of the one before. */
  readonly client: () => HttpClient;
  readonly endpoint: HttpEndpoint | undefined;
  readonly resiliency: Resiliency | undefined;
}

/** A service without a sidecar: it gets none of the sidecar's own header fields. */
export class Service implements Destination {
  readonly isOwn = false;
  readonly service: 'endpoint' | 'url';
  readonly #deps: ServiceDeps;

  constructor(deps: ServiceDeps) {
    this.#deps = deps;
    this.service = deps.endpoint === undefined ? 'url' : 'endpoint';
  }

  policy(path: string): Policy | undefined {
    return this.#deps.resiliency?.forEndpoint(this.#deps.name, path);
  }

  addTo(fields: Fields): Fields {
    return this.#deps.endpoint?.addTo(fields) ?? fields;
  }

  pathOf(path: string): string {
    return this.#deps.baseUrl.base + path;
  }

  send(request: SidecarRequest): Promise<SidecarResponse> {
    return this.#deps.client().handle(request);
  }

  isUnreached(error: unknown): boolean {
    return isNoConnection(error);
  }
}
