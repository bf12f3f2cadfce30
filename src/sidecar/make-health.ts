import type { AppMonitor } from '../app/app-monitor.ts';
import type { ActorsService } from '../blocks/actors/actors-service.ts';
import { Health, type NotReady, type ReadinessCheck } from '../blocks/health/health.ts';
import { messageOf } from '../errors.ts';
import type { Resiliency } from '../resiliency/policy.ts';
import type { StateStore } from '../state/store.ts';
import type { StoreBlocks } from './make-stores.ts';

interface MakeHealthDeps {
  readonly appId: string;
  readonly host: { readonly isRunning: () => boolean; readonly state: () => StateStore | undefined };
  readonly monitor: AppMonitor | undefined;
  readonly resiliency: Resiliency;
  readonly stores: StoreBlocks;
  readonly actors: ActorsService;
}

/** Makes the block. */
export function makeHealth({ appId, host, monitor, resiliency, stores, actors }: MakeHealthDeps): Health {
  const appProblem = (app: AppMonitor): NotReady | undefined => (app.isReady ? undefined : { reason: app.state });
  return new Health({
    appId,
    outbound: [
      { name: 'components', problem: () => (host.isRunning() ? undefined : { reason: undefined }) },
      { name: 'state', problem: () => problemOf(host.state()?.failure) },
      // Only a sidecar with stores reports on them.
      ...(stores.count === 0 ? [] : [{ name: 'stores' as const, problem: () => problemOfStores(stores) }]),
    ],
    inbound: monitor === undefined ? [] : [{ name: 'app-channel', problem: () => appProblem(monitor) }],
    actors: () => checkOfActors(actors),
    breakers: () => resiliency.breakers(),
  });
}

function checkOfActors({ problem, types }: ActorsService): ReadinessCheck | undefined {
  if (problem === undefined && types.declared.length === 0) return undefined;
  return { name: 'actors', problem: () => (problem === undefined ? undefined : { reason: problem }) };
}

function problemOfStores(stores: StoreBlocks): NotReady | undefined {
  const failed = stores.failed();
  if (failed.length === 0) return undefined;
  return { reason: failed.map(({ name, reason }) => `${name}: ${reason}`).join('; ') };
}

function problemOf(failure: Error | undefined): NotReady | undefined {
  return failure && { reason: messageOf(failure) };
}
