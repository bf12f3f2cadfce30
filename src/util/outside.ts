import { AsyncResource } from 'node:async_hooks';

/*
 * Code of the user that the sidecar calls (handlers, workflows, listeners, loggers, components, stores, clocks of the
 * user's own) runs in no AsyncLocalStorage of a request. The sidecar's loops are shared: they run in the context of
 * whichever request woke them, so a handler would act for the tenant, or in the transaction, of another one.
 */

const made = new AsyncResource('insidecar');
const [ASYNC_ID, TRIGGER_ID] = ['async_id_symbol', 'trigger_async_id_symbol'].map((description) =>
  Object.getOwnPropertySymbols(made).find((symbol) => symbol.description === description),
);
const ids = made as unknown as Readonly<Record<symbol, number>>;

/**
 * An `AsyncResource` without what it keeps of the context in which it was made. This module may be loaded in a request:
 * the resource above then keeps that request's stores for good, as properties beside its IDs. A new one for each call,
 * because on Node 20 and 22 `enterWith` of the code that runs in it changes the resource itself.
 */
class Outside {
  [id: symbol]: number | undefined;

  constructor(asyncId: symbol, triggerId: symbol) {
    this[asyncId] = ids[asyncId];
    this[triggerId] = ids[triggerId];
  }
}

const { runInAsyncScope } = AsyncResource.prototype;

/**
 * Runs code in no AsyncLocalStorage, as all that follows from it does; the caller's own context is as before.
 * It costs 20 to 40 ns. On a runtime whose resources are made otherwise, code runs in the context of this module.
 */
export function outside<T>(work: () => T): T {
  if (ASYNC_ID === undefined || TRIGGER_ID === undefined) return made.runInAsyncScope(work);
  return runInAsyncScope.call(resourceOf(new Outside(ASYNC_ID, TRIGGER_ID)), work) as T;
}

/** Node reads nothing of a resource but its IDs and its context, so the cast is safe. */
function resourceOf(own: Outside): AsyncResource {
  return own as unknown as AsyncResource;
}

/** Runs code and returns its result. */
export type Run = <T>(work: () => T) => T;

/** Makes a way to call code of the user's: {@link outside}, but in the trace of the code that makes it. */
export type Apart = () => Run;
