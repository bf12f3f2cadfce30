import { namePart } from '../../state/keys.ts';
import { JobLayout } from '../../timed/running/layout.ts';

/** The keys of an application's jobs. */
export function jobLayout(appId: string): JobLayout {
  return new JobLayout(['jobs', namePart(appId)]);
}
