import type { Jobs } from '../blocks/jobs/jobs.ts';
import type { JobDefinition } from '../blocks/jobs/model/define-job.ts';
import type { SubscriptionDefinition } from '../blocks/pubsub/delivery/define-subscription.ts';
import type { TopicDefinition } from '../blocks/pubsub/publishing/topic.ts';
import type { PubSub } from '../blocks/pubsub/pubsub.ts';
import type { EventDefinition } from '../blocks/workflow/model/define-event.ts';
import type { ActivityDefinition, WorkflowDefinition } from '../blocks/workflow/model/definition.ts';
import type { Workflows } from '../blocks/workflow/workflows.ts';
import { nameOfKind } from '../util/known-fields.ts';
import { invalidArgument } from '../util/option-fields.ts';

/** What the `define…` functions return, for {@link Sidecar.register}. @public */
export type Definition =
  | TopicDefinition
  | SubscriptionDefinition
  | EventDefinition
  | JobDefinition
  | WorkflowDefinition<never>
  | ActivityDefinition<never>;

/** The blocks that run code. */
interface Blocks {
  readonly pubsub: PubSub;
  readonly jobs: Jobs;
  readonly workflows: Workflows;
}

/** Attaches the code of a definition. @throws SidecarError `ERR_INVALID_ARGUMENT` */
export function register({ pubsub, jobs, workflows }: Blocks, definition: Definition): void {
  switch (Object(definition).kind as Definition['kind'] | undefined) {
    case 'topic':
    case 'event':
      return;
    case 'subscription':
      return pubsub.attach(definition as SubscriptionDefinition);
    case 'job':
      // Before the start it only throws.
      return void jobs.register(definition as JobDefinition);
    case 'workflow':
    case 'activity':
      return workflows.register(definition as WorkflowDefinition<never> | ActivityDefinition<never>);
    default:
      throw invalidArgument(
        `register was given ${nameOfKind(definition)}: expected what a function such as defineSubscription returns${Array.isArray(definition) ? ', each as an argument: register(...list)' : ''}`,
        'definitions',
      );
  }
}
