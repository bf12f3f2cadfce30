import type { WorkflowFailure } from '../../../api/workflows.ts';
import { Notice } from '../../ui/states.tsx';

/** Why something failed, with the stack behind it. */
export function Failure({ of: { errorType, message, stackTrace } }: { readonly of: WorkflowFailure }) {
  return (
    <Notice tone="bad">
      <strong>{errorType}</strong>: {message}
      {stackTrace === undefined ? null : (
        <details>
          <summary>Stack</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard. */}
          <section class="code" tabIndex={0} aria-label="Stack">
            <pre>{stackTrace}</pre>
          </section>
        </details>
      )}
    </Notice>
  );
}
