import { compileMatch } from '../blocks/pubsub/delivery/rules.ts';
import type { SubscriptionOptions } from '../blocks/pubsub/delivery/subscription.ts';
import { messageOf } from '../errors.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';

/** `spec` of a Subscription of either version is that of the options, word for word. */
export function readSubscriptions(resources: readonly Resource[], report: Report): SubscriptionOptions[] {
  return resources
    .filter(({ kind }) => kind === 'Subscription')
    .map((resource) => {
      // The schemas of the kind have been checked, and ask for more than the options do.
      const subscription = resource.spec as SubscriptionOptions;
      for (const [index, { match }] of (subscription.routes?.rules ?? []).entries())
        tryOut(match ?? '', index, resource, report);
      return subscription;
    });
}

/** A rule that cannot be used would be refused only when the sidecar runs, without a line. */
function tryOut(match: string, index: number, { document }: Resource, report: Report): void {
  try {
    compileMatch(match);
  } catch (error) {
    const place = document.place(['spec', 'routes', 'rules', index, 'match']);
    report.problem(place, `spec.routes.rules[${index}].match: ${messageOf(error)}`);
  }
}
