import { dirname, join } from 'node:path';
import { isSidecarError, SidecarError } from '../errors.ts';
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
      if (!isSidecarError(error)) throw error;
      refused.push(error);
    });
    if (loaded === undefined) continue;
    byApp.set(appId, loaded);
    for (const note of loaded.notes) notes.add(formatFinding(note));
  }
  throwAll(refused);
  const state = statePath === undefined ? oneState([...byApp.values()], runFile) : onDisk(statePath);
  return { byApp, state: await state, notes: [...notes] };
}

/** Loaded on demand: many runs keep their state in memory. */
async function onDisk(path: string): Promise<StateDefinition> {
  return (await import('../components/embedded/index.ts')).embedded({ path });
}

/** Throws the errors of all applications together, so that all files can be fixed at once. */
function throwAll(errors: readonly SidecarError[]): void {
  const [first, ...more] = errors;
  if (first === undefined) return;
  if (more.length === 0) throw first;
  const messages = new Set(errors.map(({ message }) => message));
  throw new SidecarError(first.code, [...messages].join('\n'), { cause: first });
}

/**
 * The applications of a run share one store, so that messages of one can reach the others. Several directories become
 * one; of servers there can be only one.
 */
async function oneState(
  apps: readonly LoadedResources[],
  runFile: string | undefined,
): Promise<StateDefinition | undefined> {
  const paths = new Set<string>();
  const byPlace = new Map<string, StateDefinition>();
  for (const { statePath, options } of apps) {
    if (statePath !== undefined) paths.add(statePath);
    else if (options.state?.place !== undefined) byPlace.set(options.state.place, options.state);
  }
  const [server] = byPlace.values();
  if (server === undefined) return oneDirectory([...paths], runFile);
  if (byPlace.size === 1 && paths.size === 0) return server;
  const places = [...byPlace.keys(), ...paths].join('; ');
  throw new SidecarError(
    'ERR_CONFIGURATION',
    `the applications of a run share one state, and their files name several (${places}): name the same in all files`,
  );
}

async function oneDirectory(
  paths: readonly string[],
  runFile: string | undefined,
): Promise<StateDefinition | undefined> {
  const [first] = paths;
  if (first === undefined) return undefined;
  const isOwn = paths.length === 1 && runFile === undefined;
  return onDisk(isOwn ? first : join(dirname(runFile ?? '.'), '.insidecar'));
}
