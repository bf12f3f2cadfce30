import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes the resource file of a component named `pubsub` into a directory. */
export function writePubSubFile(
  directory: string,
  type: string,
  metadata: Readonly<Record<string, string>> = {},
): void {
  const items = Object.entries(metadata).map(([name, value]) => ({ name, value }));
  const spec = { type, version: 'v1', metadata: items };
  const resource = { apiVersion: 'dapr.io/v1alpha1', kind: 'Component', metadata: { name: 'pubsub' }, spec };
  writeFileSync(join(directory, 'pubsub.yaml'), JSON.stringify(resource));
}
