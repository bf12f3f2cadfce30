import type { WorkflowFailure } from './failure.ts';
import type { Payload } from './payload.ts';

/** How a run of the code ended. */
export type RunOutcome =
  | { readonly kind: 'completed'; readonly output: Payload }
  | { readonly kind: 'failed'; readonly failure: WorkflowFailure }
  | { readonly kind: 'canceled' }
  | { readonly kind: 'terminated'; readonly output: Payload }
  | { readonly kind: 'continued'; readonly input: Payload; readonly keepEvents: boolean };
