import { dirname, join } from 'node:path';
import { isSidecarError, SidecarError } from '../errors.ts';
import type { LoadedResources } from '../resources/index.ts';
import type { AppSettings } from './settings.ts';

/** What the resource files of a run say. */
export interface RunResources {
  /** By app ID; an application that names no files is not there. */
  readonly byApp: ReadonlyMap<string, LoadedResources>;
  /** The directory in which the state of all applications is kept; in memory without one. */
  readonly statePath: string | undefined;
  readonly notes: readonly string[];
}

/** How resource files are read. */
export interface ResourceSettings {
  readonly statePath?: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly substitute: Readonly<Record<string, string>>;
  /** The multi-app file, if the run has one. */
  readonly runFile?: string;
}

/** Reads the files of every application before any is started. @throws SidecarError with all that is wrong, by line. */
export async function readResources(apps: readonly AppSettings[], settings: ResourceSettings): Promise<RunResources> {
  const { statePath, environment, substitute, runFile } = settings;
  const byApp = new Map<string, LoadedResources>();
  const notes = new Set<string>();
  const refused: SidecarError[] = [];
  for (const { appId, directory, resourcesPaths, configPaths } of apps) {
    if (resourcesPaths.length === 0 && configPaths.length === 0) continue;
    // Only now: a run without files needs no reader of YAML.
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

/** Of all applications together: whoever mends one file wants to know of the others. */
function throwAll(errors: readonly SidecarError[]): void {
  const [first, ...more] = errors;
  if (first === undefined) return;
  if (more.length === 0) throw first;
  const messages = new Set(errors.map(({ message }) => message));
  throw new SidecarError(first.code, [...messages].join('\n'), { cause: first });
}

/** The applications of a run share one store, or messages of one would not reach another. */
function onePath(wished: readonly string[], runFile: string | undefined): string | undefined {
  if (wished.length < 2 && (runFile === undefined || wished.length === 0)) return wished[0];
  return join(dirname(runFile ?? '.'), '.insidecar');
}
