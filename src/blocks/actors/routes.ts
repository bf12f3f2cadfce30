import type { Route } from '../../http/router.ts';

/** The routes of actors: calls and state here, reminders and timers from `reminders/routes.ts`. */
export function actorRoutes(): Route[] {
  return [];
}
