import { dirname, join } from 'node:path';
import { isApiError, SidecarError } from '../errors.ts';
import type { LoadedResources } from '../resources/index.ts';
import type { StateDefinition } from '../state/store.ts';
import type { WireName } from '../wire.ts';
import type { AppSettings } from './settings.ts';

export interface RunResources {
  /** By app ID; applications without resource files are absent. */
  readonly byApp: ReadonlyMap<string, LoadedResources>;
  /** The state of all applications; `undefined` for state in memory. */
  readonly state: StateDefinition | undefined;
  readonly notes: readonly string[];
}

export interface ResourceSettings {
  readonly statePath?: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly substitute: Readonly<Record<string, string>>;
  readonly wire: WireName;
  /** The multi-app file, if the run has one. */
  readonly runFile?: string;
}

/** Reads the files of all applications before any is started. @throws SidecarError with all problems, by line. */
export async function readResources(apps: readonly AppSettings[], settings: ResourceSettings): Promise<RunResources> {
  const { statePath, environment, substitute, runFile, wire } = settings;
  const byApp = new Map<string, LoadedResources>();
  const notes = new Set<string>();
  const refused: SidecarError[] = [];
  for (const { appId, directory, resourcesPaths, configPaths } of apps) {
    if (resourcesPaths.length === 0 && configPaths.length === 0) continue;
    // Loaded on demand: a run without files needs no YAML parser.
    const { formatFinding, loadResources } = await import('../resources/index.ts');
    const read = { environment, configPaths, substitute, workingDirectory: directory, wire };
    const options = { appId, appliesTelemetry: true, ...read };
    const loaded = await loadResources(resourcesPaths, options).catch((error: unknown) => {
      if (!isApiError(error)) throw error;
      refused.push(error);
    });
    if (loaded === undefined) continue;
    byApp.set(appId, loaded);
    for (const note of loaded.notes) notes.add(formatFinding(note));
  }
  throwAll(refused);
  if (statePath !== undefined) return { byApp, state: await onDisk(statePath), notes: [...notes] };
  const { state, note } = await oneState([...byApp.values()], runFile);
  return { byApp, state, notes: note === undefined ? [...notes] : [...notes, note] };
}

/** Loaded on demand: many runs keep their state in memory. */
async function onDisk(path: string, exclusive = false): Promise<StateDefinition> {
  return (await import('../components/embedded/index.ts')).embeddedState({ path, exclusive });
}

/** Throws the errors of all applications together, so that all files can be fixed at once. */
function throwAll(errors: readonly SidecarError[]): void {
  const [first, ...more] = errors;
  if (first === undefined) return;
  if (more.length === 0) throw first;
  const messages = new Set(errors.map(({ message }) => message));
  throw new SidecarError(first.code, [...messages].join('\n'), { cause: first });
}

/** The state of a run, and what is to be said of the choice. */
interface ChosenState {
  readonly state: StateDefinition | undefined;
  readonly note?: string;
}

/**
 * The applications of a run share one store, so that messages of one can reach the others. Several directories become
 * one. Of several servers it is the one that the files mark, as for a single application, else none of them.
 */
async function oneState(apps: readonly LoadedResources[], runFile: string | undefined): Promise<ChosenState> {
  const marked = apps.filter(({ ownState }) => ownState?.isMarked === true);
  const { paths, servers } = placesOf(marked.length > 0 ? marked : apps);
  const [server] = servers.values();
  const isExclusive = apps.some(({ ownState }) => ownState?.isExclusive === true);
  if (server === undefined) return { state: await oneDirectory([...paths], { runFile, isExclusive }) };
  if (servers.size === 1 && paths.size === 0) return { state: server };
  const places = [...servers.keys(), ...paths].join('; ');
  if (marked.length > 0) {
    const advice = 'leave actorStateStore "true" to one of them, or to the same in all files';
    const message = `the applications of a run share one state, and their files mark several (${places}): ${advice}`;
    throw new SidecarError('ERR_CONFIGURATION', message);
  }
  const isOnDisk = paths.size > 0 || apps.some(({ ownState }) => ownState?.needsDisk === true);
  const where = isOnDisk ? 'on disk' : 'in memory';
  const advice = 'set actorStateStore to "true" on one of them to keep it there';
  const note = `the applications of a run share one state, and their files name several (${places}): jobs, workflows and queues are kept ${where}, and in none of them: ${advice}`;
  return { state: isOnDisk ? await runDirectory({ runFile, isExclusive }) : undefined, note };
}

interface Places {
  readonly paths: ReadonlySet<string>;
  readonly servers: ReadonlyMap<string, StateDefinition>;
}

function placesOf(apps: readonly LoadedResources[]): Places {
  const paths = new Set<string>();
  const servers = new Map<string, StateDefinition>();
  for (const { statePath, options } of apps) {
    if (statePath !== undefined) paths.add(statePath);
    else if (options.state?.place !== undefined) servers.set(options.state.place, options.state);
  }
  return { paths, servers };
}

/** What decides where state on disk is, and who may have it open. */
interface DirectoryOfRun {
  readonly runFile: string | undefined;
  readonly isExclusive: boolean;
}

async function oneDirectory(paths: readonly string[], run: DirectoryOfRun): Promise<StateDefinition | undefined> {
  const [first] = paths;
  if (first === undefined) return undefined;
  return paths.length === 1 && run.runFile === undefined ? onDisk(first, run.isExclusive) : runDirectory(run);
}

function runDirectory({ runFile, isExclusive }: DirectoryOfRun): Promise<StateDefinition> {
  return onDisk(join(dirname(runFile ?? '.'), '.insidecar'), isExclusive);
}
