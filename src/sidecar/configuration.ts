import type { HttpEndpointOptions } from '../blocks/invocation/endpoints.ts';
import type { NameResolutionOptions } from '../blocks/invocation/resolution/options.ts';
import type { IdentityKey, IdentityOptions } from '../security/identity-options.ts';
import type { ResolvedOptions, SidecarOptions } from './options.ts';

/** Stands for a value that is a secret, or may contain one. */
const MASK = '***';

type Shown = Readonly<Record<keyof SidecarOptions, unknown>>;

/**
 * The options of a sidecar for display, with their defaults. Each shown option is named here: a value that is not named
 * does not appear.
 */
export function configurationOf(options: ResolvedOptions): Readonly<Record<string, unknown>> {
  const {
    appId,
    namespace,
    bodyLimitBytes,
    headLimitBytes,
    deliveryTimeoutMs,
    stopTimeoutMs,
    components,
    subscriptions,
  } = options;
  const { invocation, jobs, workflows, resiliency, accessControl, api, cors, allowedHosts, dapr } = options;
  const { address, identity, secrets, state, wire, telemetry } = options;
  const shown: Shown = {
    ...{ appId, namespace, bodyLimitBytes, headLimitBytes, subscriptions },
    ...{ deliveryTimeout: deliveryTimeoutMs, stopTimeout: stopTimeoutMs },
    ...{ invocation, jobs, workflows, resiliency, accessControl, api, cors, allowedHosts, dapr },
    secrets,
    app: appOf(options),
    components: components.map(({ name, type, version, scopes }) => ({ name, type, version, scopes })),
    state: { type: state.type, place: state.place },
    httpEndpoints: options.httpEndpoints.map(endpointOf),
    nameResolution: namesOf(options.nameResolution),
    address: address === undefined ? undefined : originOf(address),
    wire: wire.name,
    apiToken: masked(options.apiToken),
    appToken: masked(options.appToken),
    identity: identity && identityOf(identity),
    telemetry: telemetry?.type,
    // Code.
    clock: undefined,
    logger: undefined,
  };
  // A copy, without what is undefined: changing it does not change the options.
  return JSON.parse(JSON.stringify(shown)) as Record<string, unknown>;
}

function masked(secret: unknown): string | undefined {
  return secret === undefined || secret === '' ? undefined : MASK;
}

/** Paths, queries and user names of URLs may be secrets: those of web hooks are. */
function originOf(url: string): string {
  if (!URL.canParse(url)) return MASK;
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

function appOf({ app, appHealth: health }: ResolvedOptions): object | undefined {
  if (app === undefined) return undefined;
  const { maxConcurrency } = app;
  if (!('port' in app)) return { [Object.hasOwn(app, 'fetch') ? 'fetch' : 'listener']: true, maxConcurrency, health };
  const { port, host, protocol } = app;
  return { port, host, protocol, maxConcurrency, health };
}

function endpointOf({ name, baseUrl, headers, clientTLS }: HttpEndpointOptions): object {
  return { name, baseUrl: originOf(baseUrl), headers: allMasked(headers), clientTLS: allMasked(clientTLS) };
}

/** The names of all fields, without their values. */
function allMasked(fields: object | undefined): object | undefined {
  if (fields === undefined) return undefined;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, masked(value)]));
}

function namesOf({ static: table = {}, dns }: NameResolutionOptions): object {
  const urls = Object.entries(table).map(([name, of]) => [name, (typeof of === 'string' ? [of] : of).map(originOf)]);
  return { static: Object.fromEntries(urls), dns };
}

function identityOf({ keys, peers = {}, trustDomain }: IdentityOptions): object {
  const ofPeers = Object.entries(peers).map(([name, of]) => [name, [of].flat().map(keyOf)]);
  return { keys: keys.map(keyOf), peers: Object.fromEntries(ofPeers), trustDomain };
}

function keyOf(key: IdentityKey): object {
  const { kid } = key;
  if ('secret' in key) return { kid, secret: masked(key.secret) };
  return { kid, privateKey: masked(key.privateKey), publicKey: masked(key.publicKey) };
}
