import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { durablePubSub, memoryPubSub, type SidecarOptions } from '../../src/index.ts';
import { untilEnd } from './inspected.ts';

/** Where the state of a sidecar is. */
export const PLACES = ['memory', 'embedded'] as const;
export type Place = (typeof PLACES)[number];

/** Options with a component `pubsub` and a state store; what is on disk is gone after the test. */
export function placed(place: Place): SidecarOptions {
  if (place === 'memory') return { components: [memoryPubSub('pubsub')] };
  const path = mkdtempSync(join(tmpdir(), 'insidecar-inspector-'));
  untilEnd({ [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }) });
  return { components: [durablePubSub('pubsub')], state: embeddedState({ path: join(path, 'state') }) };
}
