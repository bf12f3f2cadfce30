import type { AppInfo, AppsReply } from '../../inspector/api/apps.ts';
import { didYouMean } from '../../util/suggest.ts';
import type { FlagValues } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandFailure, misuse } from '../failure.ts';
import { TOKEN_VARIABLE } from '../inspector/token.ts';
import { liveRuns, type RunInfo, type RunInspector } from '../runs/run-files.ts';
import { Api, type InspectorClient } from './api-client.ts';
import { httpInspector } from './http-inspector.ts';
import type { StoppedApp } from './stopped.ts';

/** Which application a command is about. */
interface Target {
  /** How its inspector is reached, or where the state is of a stopped one. */
  readonly place: Running | Omit<StoppedApp, 'appId'>;
  readonly appId: string | undefined;
}

/** An inspector to be reached over HTTP. */
interface Running {
  readonly url: string;
  readonly token: string | undefined;
  /** The run with it, if it was found by its file. */
  readonly run?: RunInfo;
}

/** An application that can be asked. */
export interface OpenTarget extends AsyncDisposable {
  readonly api: Api;
  /** Its key in the inspector: the app ID, with a number if there are several of that name. */
  readonly app: string;
  /** Which one it is, and where: one line. */
  readonly identity: string;
  readonly isStopped: boolean;
}

const WAYS = ['url', 'state-path', 'http-port'] as const;

/** @throws Failure if the flags name no application, or several. */
export function targetOf(flags: FlagValues, about: string, { environment }: CommandContext): Target {
  const [one, other] = WAYS.filter((way) => flags.text(way) !== undefined);
  if (one !== undefined && other !== undefined) throw misuse(`--${one} does not go with --${other}`, about);
  const appId = flags.text('app-id');
  const [url, statePath] = [flags.text('url'), flags.text('state-path')];
  const token = flags.text('token') ?? (environment[TOKEN_VARIABLE] || undefined);
  if (url !== undefined) return { place: placeOf(url, token, about), appId };
  if (flags.text('token') !== undefined) throw misuse('--token goes with --url', about);
  if (statePath !== undefined) return { place: { statePath, about }, appId };
  const httpPort = flags.port('http-port');
  const { run, inspector } = runMeant(liveRuns(environment), { httpPort, appId, about });
  const atPort = run.apps.find((app) => app.httpPort === httpPort);
  return { place: { ...inspector, run }, appId: appId ?? atPort?.appId };
}

/** The URL that a run prints has the token. */
function placeOf(text: string, given: string | undefined, about: string): { url: string; token: string | undefined } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw misuse(`--url must be the URL of an inspector, such as http://127.0.0.1:3000/inspector`, about);
  if (url.username !== '' || url.password !== '') throw misuse('--url takes no user name and password', about);
  const token = given ?? url.searchParams.get('token') ?? undefined;
  // Checked here, because the error of the request would show the token.
  if (token !== undefined && !/^[!-~]+$/.test(token))
    throw misuse('the token has characters that no token has, such as spaces or line ends', about);
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return { url: url.href, token };
}

interface Wanted {
  readonly httpPort: number | undefined;
  readonly appId: string | undefined;
  readonly about: string;
}

/** A run that can be asked. */
interface Inspected {
  readonly run: RunInfo;
  readonly inspector: RunInspector;
}

function runMeant(all: readonly RunInfo[], { httpPort, appId, about }: Wanted): Inspected {
  const runs = all.flatMap((run) => (run.inspector === undefined ? [] : [{ run, inspector: run.inspector }]));
  const meant = runs.filter(
    ({ run: { apps } }) =>
      (httpPort === undefined || apps.some((app) => app.httpPort === httpPort)) &&
      (appId === undefined || apps.some((app) => isNamed(appId, app.appId))),
  );
  const [run, other] = meant;
  if (run !== undefined && other === undefined) return run;
  if (run !== undefined)
    throw misuse(`several runs have an inspector: say which\n${meant.map(lineOf).join('\n')}`, about);
  const whose = httpPort === undefined ? '' : ` whose HTTP API has port ${httpPort}`;
  const who = appId === undefined ? '' : ` with the app ID ${JSON.stringify(appId)}`;
  const others = runs.length === 0 ? '' : `\nThere are others:\n${runs.map(lineOf).join('\n')}`;
  throw new CommandFailure(
    `no application${who}${whose} runs with an inspector. Start it with insidecar run --inspect, or say --url of an inspector that it mounts, or --state-path of one that is stopped.${others}`,
  );
}

/** Applications of the same name have a number behind it. */
function isNamed(wanted: string, appId: string): boolean {
  return wanted === appId || wanted.replace(/~\d+$/, '') === appId;
}

function lineOf({ run: { pid, apps } }: Inspected): string {
  const named = apps.map(({ appId, httpPort }) => `--app-id ${appId} or --http-port ${httpPort}`);
  return `  process ${pid}: ${named.join(', ')}`;
}

/** Opens the way to an application. @throws Failure if it cannot be reached, or it is not known which. */
export async function openTarget(target: Target, context: CommandContext): Promise<OpenTarget> {
  const { inspector, isStopped, whereOf } = await reach(target, context);
  try {
    const { apps } = await new Api(inspector).get<AppsReply>('apps');
    const meant = appMeant(apps, target.appId);
    const { key: app } = meant;
    const identity = `${app} ${whereOf(apps.indexOf(meant))}`;
    return { api: new Api(inspector, app), app, identity, isStopped, [Symbol.asyncDispose]: () => close(inspector) };
  } catch (error) {
    await close(inspector);
    throw error;
  }
}

interface Reached {
  readonly inspector: InspectorClient;
  readonly isStopped: boolean;
  /** Where an application is, by its place among those of the inspector. */
  readonly whereOf: (at: number) => string;
}

async function reach({ place, appId }: Target, context: CommandContext): Promise<Reached> {
  if (!('statePath' in place))
    return { inspector: httpInspector(place), isStopped: false, whereOf: (at) => runningAt(place, at) };
  const { stoppedInspector } = await import('./stopped.ts');
  const inspector = await stoppedInspector({ ...place, appId }, context);
  return { inspector, isStopped: true, whereOf: () => inspector.where };
}

/** The file of a run has its applications in the order of its inspector. */
function runningAt({ url, run }: Running, at: number): string {
  if (run === undefined) return `at ${url}`;
  return `at port ${run.apps[at]?.httpPort} (pid ${run.pid}, directory ${run.directory})`;
}

async function close(inspector: InspectorClient): Promise<void> {
  await inspector[Symbol.asyncDispose]();
}

function appMeant(apps: readonly AppInfo[], wanted: string | undefined): AppInfo {
  const meant = apps.filter(({ key, appId }) => wanted === undefined || key === wanted || appId === wanted);
  const [app, other] = meant;
  const all = apps.map(({ key }) => key);
  if (app !== undefined && other === undefined) return app;
  const exact = meant.find(({ key }) => key === wanted);
  if (exact !== undefined) return exact;
  if (app === undefined && wanted !== undefined)
    throw new CommandFailure(
      `there is no application ${JSON.stringify(wanted)}${didYouMean(wanted, all)}: expected ${list(all)}`,
    );
  throw new CommandFailure(`there are several applications: say --app-id ${list(all)}`);
}

function list(names: readonly string[]): string {
  return names.join(' or ');
}
