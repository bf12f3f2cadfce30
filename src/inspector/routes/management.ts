import type { PayloadViews } from '../payload.ts';
import type { ApiRoute } from '../route.ts';

/** The routes over the typed methods of a sidecar. */
export function managementRoutes(_views: PayloadViews): readonly ApiRoute[] {
  return [];
}
