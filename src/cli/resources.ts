import { dirname, join } from 'node:path';
import { isSidecarError, SidecarError } from '../errors.ts';
import type { LoadedResources } from '../resources/index.ts';
import type { AppSettings } from './settings.ts';

export interface RunResources {
  /** By app ID; applications without resource files are absent. */
  readonly byApp: ReadonlyMap<string, LoadedResources>;
  /** The directory of the state of all applications; absent for state in memory. */
  readonly statePath: string | undefined;
  readonly notes: readonly string[];
}

export interface ResourceSettings {
  readonly statePath?: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly substitute: Readonly<Record<string, string>>;
  /** The multi-app file, if the run has one. */
  readonly runFile?: string;
}

/** Reads the files of all applications before any is started. @throws SidecarError with all problems, by line. */
export async function readResources(apps: readonly AppSettings[], settings: ResourceSettings): Promise<RunResources> {
  const { statePath, environment, substitute, runFile } = settings;
  const byApp = new Map<string, LoadedResources>();
  const notes = new Set<string>();
  const refused: SidecarError[] = [];
  for (const { appId, directory, resourcesPaths, configPaths } of apps) {
    if (resourcesPaths.length === 0 && configPaths.length === 0) continue;
    // Loaded on demand: a run without files needs no YAML parser.
    const { formatFinding, loadResources } = await import('../resources/index.ts');
    const options = { appId, environment, configPaths, substitute, workingDirectory: directory };
    const loaded = await loadResources(resourcesPaths, options).catch((error: unknown) => {
      if (!isSidecarError(error)) throw error;
      refused.push(error);
    });
    if (loaded === undefined) continue;
    byApp.set(appId, loaded);
    for (const note of loaded.notes) notes.add(formatFinding(note));
  }
  throwAll(refused);
  const wished = [...new Set([...byApp.values()].flatMap((loaded) => loaded.statePath ?? []))];
  return { byApp, statePath: statePath ?? onePath(wished, runFile), notes: [...notes] };
}

/** Throws the errors of all applications together, so that all files can be fixed at once. */
function throwAll(errors: readonly SidecarError[]): void {
  const [first, ...more] = errors;
  if (first === undefined) return;
  if (more.length === 0) throw first;
  const messages = new Set(errors.map(({ message }) => message));
  throw new SidecarError(first.code, [...messages].join('\n'), { cause: first });
}

/** The applications of a run share one store, so that messages of one can reach the others. */
function onePath(wished: readonly string[], runFile: string | undefined): string | undefined {
  if (wished.length < 2 && (runFile === undefined || wished.length === 0)) return wished[0];
  return join(dirname(runFile ?? '.'), '.insidecar');
}
