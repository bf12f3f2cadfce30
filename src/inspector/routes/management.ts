import type { PayloadViews } from '../payload.ts';
import type { ApiRoute } from '../route.ts';
import { actorRoutes } from './actors.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { jobRoutes, type RecentRuns } from './jobs.ts';
import { queueRoutes } from './queues.ts';
import { settingsRoutes } from './settings.ts';
import { storeRoutes } from './stores.ts';
import { subscriptionRoutes } from './subscriptions.ts';
import { workflowBulkRoutes } from './workflow-bulk.ts';
import { workflowRoutes } from './workflows.ts';

/** The routes over the typed methods of a sidecar. */
export function managementRoutes(views: PayloadViews, recentRuns: RecentRuns): readonly ApiRoute[] {
  return [
    ...queueRoutes(views),
    ...deadLetterRoutes(views),
    ...subscriptionRoutes(),
    ...jobRoutes(views, recentRuns),
    ...workflowRoutes(views),
    ...workflowBulkRoutes(),
    ...actorRoutes(views),
    ...storeRoutes(views),
    ...settingsRoutes(),
  ];
}
