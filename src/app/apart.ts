import { AsyncResource } from 'node:async_hooks';
import type { Probe } from '../probe.ts';

/** Calls an application of this process: it must not see the caller's AsyncLocalStorage, but it is within its trace. */
export function apart(probe: Probe | undefined): <T>(work: () => T) => T {
  const outside = new AsyncResource('insidecar.app');
  if (probe === undefined) return (work) => outside.runInAsyncScope(work);
  return (work) => {
    const within = probe.bound();
    return outside.runInAsyncScope(() => within(work));
  };
}
