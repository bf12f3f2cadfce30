import { SidecarError } from '../errors.ts';
import type { Sidecar } from '../sidecar/sidecar.ts';
import type { AppInfo } from './api/apps.ts';
import type { JobRecord } from './api/live.ts';
import type { InspectSettings } from './options.ts';
import { payloadViews } from './payload.ts';
import type { RecordFilter } from './recorder/query.ts';
import { Recorder } from './recorder/recorder.ts';
import { type ApiRoute, type ApiRouteTable, routeTable } from './route.ts';
import type { RecentRuns } from './routes/jobs.ts';
import { liveRoutes } from './routes/live.ts';
import { managementRoutes } from './routes/management.ts';

/** An application that is inspected: a sidecar with its part of the API. */
export interface InspectedApp {
  readonly key: string;
  readonly sidecar: Sidecar;
  readonly routes: ApiRouteTable;
  /** Ends what it has begun: recording, and streams to viewers. */
  readonly close: () => void;
}

/** The applications of an inspector, by their keys. */
export function inspectedApps(
  sidecars: readonly Sidecar[],
  settings: InspectSettings,
): ReadonlyMap<string, InspectedApp> {
  const apps = new Map<string, InspectedApp>();
  for (const sidecar of sidecars) {
    const key = freeKey(sidecar.appId, apps);
    apps.set(key, { key, sidecar, ...partsOf(sidecar, settings) });
  }
  return apps;
}

/** The parts of each sidecar: its recorder, and the routes. */
function partsOf(sidecar: Sidecar, settings: InspectSettings): Pick<InspectedApp, 'routes' | 'close'> {
  const recorder = new Recorder(sidecar, settings);
  const views = payloadViews(settings.payloads);
  const routes: readonly ApiRoute[] = [
    ...liveRoutes(sidecar, recorder),
    ...managementRoutes(views, recentRuns(recorder)),
  ];
  return { routes: routeTable(routes), close: () => recorder.close() };
}

const MAX_RECENT_RUNS = 20;

/** A reader of a job wants to see its runs: they are recorded from then on. */
function recentRuns(recorder: Recorder): RecentRuns {
  return async (jobName) => {
    recorder.watch();
    const matches: RecordFilter['matches'] = (entry) => entry.kind === 'job' && entry.name === jobName;
    const { records } = await recorder.page({ matches, text: undefined }, MAX_RECENT_RUNS);
    return records.filter((record): record is JobRecord => record.kind === 'job');
  };
}

function freeKey(appId: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(appId)) return appId;
  let number = 2;
  while (taken.has(`${appId}~${number}`)) number++;
  return `${appId}~${number}`;
}

/** The application that a call is for: the first if it names none. @throws SidecarError `ERR_NOT_FOUND`. */
export function appOf(apps: ReadonlyMap<string, InspectedApp>, key: string | null): InspectedApp {
  const [first] = apps.values();
  const app = key === null ? first : apps.get(key);
  if (app !== undefined) return app;
  const known = [...apps.keys()].join(', ');
  throw new SidecarError('ERR_NOT_FOUND', `there is no application ${JSON.stringify(key)}: expected one of ${known}`);
}

export function infoOf({ key, sidecar }: InspectedApp): AppInfo {
  const { appId, namespace, health } = sidecar;
  return { key, appId, namespace, isReady: health.state().isReady };
}
