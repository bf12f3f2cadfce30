import type { ActivityFunction } from '../blocks/workflow/model/definition.ts';
import type { TInput, TOutput, TWorkflowActivity } from './types.ts';
import { WorkflowActivityContext } from './workflow-activity-context.ts';

/** Adapts an activity to the engine. */
export function activityFunction<Input, Output>(
  activity: TWorkflowActivity<Input, Output>,
): ActivityFunction<TInput, TOutput> {
  return (input, context) => activity(new WorkflowActivityContext(context), input);
}
