import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { YamlDocument } from './yaml-document.ts';

/** Where a resource's file may be: relative to the working directory, as with Dapr, or beside the resource file. */
export interface FileLocation {
  readonly document: YamlDocument;
  readonly workingDirectory: string;
}

/** The path of a file named by a resource. */
export async function fileBeside(path: string, { document, workingDirectory }: FileLocation): Promise<string> {
  const fromHere = resolve(workingDirectory, path);
  const isHere = await stat(fromHere).then(
    () => true,
    () => false,
  );
  return isHere ? fromHere : resolve(dirname(document.file), path);
}
