import { type AppSubscription, inCodeForm } from '../blocks/pubsub/delivery/app-subscription.ts';
import { compileMatch } from '../blocks/pubsub/delivery/rules.ts';
import type { RouteSubscription } from '../blocks/pubsub/delivery/subscription.ts';
import { messageOf } from '../errors.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';

/** `spec` of a Subscription, in both versions, has the fields that an application may list. */
export function readSubscriptions(resources: readonly Resource[], report: Report): RouteSubscription[] {
  return resources
    .filter(({ kind }) => kind === 'Subscription')
    .map((resource) => {
      // The cast is safe: the schemas of the kind were checked and are stricter.
      const subscription = inCodeForm(resource.spec as AppSubscription);
      for (const [index, { match }] of (subscription.routes?.rules ?? []).entries())
        tryOut(match ?? '', index, resource, report);
      return subscription;
    });
}

/** Otherwise an invalid rule would be rejected only at run time, without a line number. */
function tryOut(match: string, index: number, { document }: Resource, report: Report): void {
  try {
    compileMatch(match);
  } catch (error) {
    const location = document.location(['spec', 'routes', 'rules', index, 'match']);
    report.problem(location, `spec.routes.rules[${index}].match: ${messageOf(error)}`);
  }
}
