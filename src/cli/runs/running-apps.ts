import { expectedNames } from '../../util/suggest.ts';
import { CommandFailure, misuse } from '../failure.ts';
import { liveRuns, type RunApp, type RunInfo } from './run-files.ts';

/** An application that runs under a command of this user. */
export interface RunningApp {
  readonly run: RunInfo;
  readonly app: RunApp;
}

export function runningApps(environment: NodeJS.ProcessEnv): readonly RunningApp[] {
  return liveRuns(environment).flatMap((run) => run.apps.map((app) => ({ run, app })));
}

/** Those with an app ID: several if it has several hosts. @throws Failure if there are none. */
export function appsNamed(appId: string, environment: NodeJS.ProcessEnv): readonly RunningApp[] {
  const all = runningApps(environment);
  const meant = all.filter(({ app }) => app.appId === appId);
  if (meant.length > 0) return meant;
  const names = [...new Set(all.map(({ app }) => app.appId))];
  const others = expectedNames(appId, names, 'insidecar list shows those that do');
  throw new CommandFailure(`no application ${JSON.stringify(appId)} runs with insidecar run${others}`);
}

/** One with an app ID; the only one without. @throws Failure if there is none, or which one is meant is not known. */
export function oneApp(
  appId: string | undefined,
  { environment, flag, about }: { environment: NodeJS.ProcessEnv; flag: string; about: string },
): RunApp {
  const meant = appId === undefined ? runningApps(environment) : appsNamed(appId, environment);
  const [first, ...others] = meant;
  if (first === undefined) throw new CommandFailure('no application runs with insidecar run');
  const names = new Set(meant.map(({ app }) => app.appId));
  if (others.length > 0 && names.size > 1)
    throw misuse(`--${flag} is missing, and several applications run: expected ${[...names].join(' or ')}`, about);
  return first.app;
}
