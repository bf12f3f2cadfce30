import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RunFileShared } from './multi-app-schema.ts';
import type { Report } from './report.ts';
import type { YamlDocument, YamlPath } from './yaml-document.ts';

/** Makes paths absolute and reports missing ones. */
export class PathResolver {
  readonly #document: YamlDocument;
  readonly #report: Report;

  constructor(document: YamlDocument, report: Report) {
    this.#document = document;
    this.#report = report;
  }

  async existing(from: string, path: string, at: YamlPath): Promise<string> {
    const absolute = resolve(from, path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path);
    if (!(await exists(absolute)))
      this.#report.problem(this.#document.location(at), `${path} is not there: looked for ${absolute}`);
    return absolute;
  }

  /** `undefined` if there are none. */
  async resources(shared: RunFileShared, base: { from: string; at: YamlPath }): Promise<string[] | undefined> {
    const { resourcesPaths, resourcesPath } = shared;
    const list = typeof resourcesPaths === 'string' ? resourcesPaths.split(',') : (resourcesPaths ?? []);
    const named = list.map((path, index) => ({ path: path.trim(), at: [...base.at, 'resourcesPaths', index] }));
    if (resourcesPath) named.push({ path: resourcesPath, at: [...base.at, 'resourcesPath'] });
    const present = named.filter(({ path }) => path !== '');
    if (present.length === 0) return undefined;
    return Promise.all(present.map(({ path, at }) => this.existing(base.from, path, at)));
  }

  async config(shared: RunFileShared, base: { from: string; at: YamlPath }): Promise<string | undefined> {
    const { configFilePath } = shared;
    return configFilePath ? this.existing(base.from, configFilePath, [...base.at, 'configFilePath']) : undefined;
  }

  async byConvention(appDirPath: string, name: string): Promise<string | undefined> {
    const path = join(appDirPath, '.dapr', name);
    return (await exists(path)) ? path : undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
