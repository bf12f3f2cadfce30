import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A component, as in a resource file. */
export interface ComponentFile {
  readonly name: string;
  readonly type: string;
  /** Default: `v1`. */
  readonly version?: string;
  /** Default: none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Writes the resource file of a component into a directory. */
export function writeComponentFile(
  directory: string,
  { name, type, version = 'v1', metadata = {} }: ComponentFile,
): void {
  const items = Object.entries(metadata).map(([item, value]) => ({ name: item, value }));
  const spec = { type, version, metadata: items };
  const resource = { apiVersion: 'dapr.io/v1alpha1', kind: 'Component', metadata: { name }, spec };
  writeFileSync(join(directory, `${name}.yaml`), JSON.stringify(resource));
}
