import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type CheckOptions,
  checkResources,
  formatFinding,
  type LoadedResources,
  type LoadOptions,
  loadResources,
} from '../../src/resources/index.ts';

/** Real time passes where files and sockets are, and a machine may be slow. */
export const PATIENCE = { timeout: 15_000 };

/** A directory with files, gone after the test. */
export async function directoryWith(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'insidecar-resources-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  return directory;
}

/** No variable of the machine plays a part. */
const alone = { environment: {} };

/** Loads one file for the app `orders`. */
export async function load(yaml: string, options: Partial<LoadOptions> = {}): Promise<LoadedResources> {
  return loadResources([await directoryWith({ 'a.yaml': yaml })], { appId: 'orders', ...alone, ...options });
}

/** The problems of one file, without its directory. */
export async function problemsOf(yaml: string | Uint8Array, options: CheckOptions = {}): Promise<string[]> {
  return (await findingsOf({ 'a.yaml': yaml }, options)).problems;
}

/** What is found in files, without their directory. */
export async function findingsOf(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: CheckOptions = {},
): Promise<{ problems: string[]; notes: string[]; names: string[] }> {
  const directory = await directoryWith(files);
  const { problems, notes, resources } = await checkResources([directory], {
    appId: 'orders',
    workingDirectory: directory,
    ...alone,
    ...options,
  });
  const relative = (text: string): string => text.replaceAll(`${directory}/`, '');
  return {
    problems: problems.map(formatFinding).map(relative),
    notes: notes.map(formatFinding).map(relative),
    names: resources.map(({ kind, name }) => `${kind} ${name}`),
  };
}

/** A component in a document of its own. */
export function component(name: string, type: string, rest = ''): string {
  return `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: ${name}
spec:
  type: ${type}
  version: v1
${rest}`;
}

/** Metadata of a component, with its indentation. */
export function metadata(values: Readonly<Record<string, string>>): string {
  const entries = Object.entries(values).map(
    ([name, value]) => `  - name: ${name}\n    value: ${JSON.stringify(value)}`,
  );
  return `  metadata:\n${entries.join('\n')}\n`;
}

/** Documents as one file. */
export function documents(...parts: readonly string[]): string {
  return parts.join('\n---\n');
}
