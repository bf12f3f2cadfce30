import { shown } from '../util/shown.ts';
import type { SidecarOptions } from './options.ts';

const isFunction = (value: unknown): boolean => typeof value === 'function';
const has = (value: unknown, name: string): boolean => isFunction(Object(value)[name]);

/** The likeliest mistakes in the options, each with the right form. */
export function likelyMistake({ app, components, state, subscriptions }: SidecarOptions): string | undefined {
  return appMistake(app) ?? stateMistake(state) ?? componentsMistake(components) ?? listMistake(subscriptions);
}

function appMistake(app: unknown): string | undefined {
  if (typeof app === 'number' || (typeof app === 'string' && /^\d+$/.test(app)))
    return `options.app is ${shown(app)}: expected { port: ${app} }`;
  // A URL may have a password in it.
  if (typeof app === 'string')
    return `options.app is a text: expected { port: ${/:(\d+)(?:\/|$)/.exec(app)?.[1] ?? 3000} }, and host if it is elsewhere`;
  // Express apps are functions; the options themselves have `fetch` too.
  if (isFunction(app)) return 'options.app is a function: expected { listener: app }';
  const isApp = has(app, 'callback') || has(app, 'routing') || has(app, 'listen');
  if (isApp) return 'options.app is the application itself: expected { listener: app }';
  const isFetchApp = has(app, 'fetch') && (has(app, 'request') || has(app, 'route'));
  return isFetchApp ? 'options.app is the application itself: expected { fetch: app.fetch }' : undefined;
}

function stateMistake(state: unknown): string | undefined {
  if (isFunction(state))
    return 'options.state is a function: expected what such a function returns, as in { state: memoryState() }';
  const { path, url, type } = Object(state) as Readonly<Record<string, unknown>>;
  if (type === undefined && path !== undefined)
    return `options.state is an object with a path: expected embeddedState(${shown(path)}) of insidecar/embedded`;
  // A URL may have a password in it.
  if (type === undefined && url !== undefined)
    return 'options.state is an object with a URL: expected postgresqlState(url) of insidecar/postgresql, or redisState(url) of insidecar/redis';
  if (typeof state !== 'string') return undefined;
  if (/^postgres(ql)?:/i.test(state))
    return 'options.state is a URL: expected postgresqlState(url) of insidecar/postgresql';
  if (/^rediss?:/i.test(state)) return 'options.state is a URL: expected redisState(url) of insidecar/redis';
  return `options.state is ${shown(state)}: expected embeddedState(${shown(state)}) of insidecar/embedded`;
}

function componentsMistake(components: unknown): string | undefined {
  if (isFunction(Object(components)['open']))
    return `options.components is the component ${shown(Object(components)['name'])} alone: expected a list, [component]`;
  if (!Array.isArray(components)) return undefined;
  const at = components.findIndex((one) => isFunction(one) || typeof one === 'string');
  return at === -1
    ? undefined
    : `options.components.${at} is ${shown(components[at])}: expected what a function returns, as in memoryPubSub('pubsub')`;
}

function listMistake(subscriptions: unknown): string | undefined {
  return Object(subscriptions)['topic'] === undefined
    ? undefined
    : 'options.subscriptions is one subscription alone: expected a list, [subscription]';
}
