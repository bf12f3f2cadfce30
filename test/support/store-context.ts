import type { ComponentContext } from '../../src/components/component.ts';
import type { StateStore } from '../../src/state/store.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RecordingLogger } from './logger.ts';

/** What a store of an application is opened with; its log is kept. Stores on servers do not use the sidecar's state. */
export function storeContext(appId = 'orders'): ComponentContext & { readonly logger: RecordingLogger } {
  return {
    appId,
    clock: systemClock,
    logger: new RecordingLogger(),
    state: undefined as unknown as StateStore,
    track: () => () => undefined,
  };
}
