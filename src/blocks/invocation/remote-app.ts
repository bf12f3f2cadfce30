import { isNoConnection } from '../../app/no-connection.ts';
import { isUntouched } from '../../http/body.ts';
import { asHeaderValue } from '../../http/header-value.ts';
import { cancelTokenOf, requestTarget, type SidecarRequest, type SidecarResponse } from '../../http/message.ts';
import type { Policy, Resiliency } from '../../resiliency/policy.ts';
import type { Identity } from '../../security/identity.ts';
import type { Wire } from '../../wire.ts';
import { isRoot } from './address.ts';
import type { Destination } from './destination.ts';
import { failed } from './errors.ts';
import type { Fields } from './headers.ts';
import { CallMark, CallOfApp } from './in-process-caller.ts';
import type { NamedCaller } from './own-app.ts';
import type { Instance, Resolver } from './resolver.ts';

export interface RemoteAppDeps {
  readonly own: NamedCaller;
  readonly wire: Wire;
  readonly resolver: Resolver | undefined;
  readonly identity: Identity | undefined;
  readonly resiliency: Resiliency | undefined;
}

/** Another application, called through its sidecar. */
export class RemoteApp implements Destination {
  readonly isOwn = false;
  readonly #deps: RemoteAppDeps;
  readonly #callee: NamedCaller;
  readonly #target: string;

  constructor(deps: RemoteAppDeps, callee: NamedCaller, target: string) {
    this.#deps = deps;
    this.#callee = callee;
    this.#target = target;
  }

  policy(path: string): Policy | undefined {
    return this.#deps.resiliency?.forApp(this.#callee.appId, path);
  }

  addTo(fields: Fields): Fields {
    const { own, wire } = this.#deps;
    const { callerAppId, callerNamespace, calleeAppId } = wire.headers;
    fields[callerAppId] = asHeaderValue(own.appId);
    fields[callerNamespace] = asHeaderValue(own.namespace);
    fields[calleeAppId] = asHeaderValue(this.#callee.appId);
    return fields;
  }

  /** The root has no name that could follow `/method/`: the target is then in a header field. */
  pathOf(path: string): string {
    if (isRoot(path)) return path;
    return `/v1.0/invoke/${this.#escapedTarget()}/method${path}`;
  }

  #escapedTarget(): string {
    return encodeURIComponent(`${this.#callee.appId}.${this.#callee.namespace}`);
  }

  /** Tries one instance after the other while no part of the request has reached any. */
  async send(request: SidecarRequest): Promise<SidecarResponse> {
    const { resolver } = this.#deps;
    const { appId, namespace } = this.#callee;
    const instances = (await resolver?.resolve(appId, namespace)) ?? [];
    if (instances.length === 0) throw failed(this.#target, 'no application of this name is known', 'unknown');
    const mark = new CallMark(this.#deps.own, this.#callee);
    try {
      return await this.#sendTo(instances, await this.#prove(request, mark));
    } finally {
      mark.end();
    }
  }

  async #sendTo(instances: readonly Instance[], request: SidecarRequest): Promise<SidecarResponse> {
    const { resolver } = this.#deps;
    let problem: unknown;
    for (const instance of instances) {
      try {
        return await instance.handle(request);
      } catch (error) {
        if (!isNoConnection(error)) throw error;
        resolver?.failed(instance);
        problem = error;
        if (!isUntouched(request.body)) break;
      }
    }
    throw problem;
  }

  /** Signs a token for each attempt: a retry may come after the previous token has expired. */
  async #prove(request: SidecarRequest, { value }: CallMark): Promise<SidecarRequest> {
    const { identity, wire, own } = this.#deps;
    const { method, path, headers, body } = request;
    const fields: Fields = { ...(headers as Fields), [wire.headers.peer]: value };
    if (identity !== undefined) fields[wire.headers.identity] = await identity.sign(this.#callee);
    if (isRoot(path)) fields[wire.headers.appId] = this.#escapedTarget();
    const call = new CallOfApp(method, requestTarget(request), fields, body, cancelTokenOf(request));
    call.caller = own;
    return call;
  }

  isUnreached(error: unknown): boolean {
    return isNoConnection(error);
  }
}
