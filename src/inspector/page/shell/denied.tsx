import type { ApiFailure } from '../core/client.ts';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Instead of any page when the server lets this browser see nothing. */
export function Denied({ failure }: { readonly failure: ApiFailure }) {
  const isUnknown = failure.status === 401;
  return (
    <Page title={isUnknown ? 'No access' : 'Not allowed'}>
      <Empty title={sentence(failure.message)}>
        {isUnknown
          ? 'The terminal or the log shows the address with its token. Or log in to the application that this page belongs to.'
          : 'You are known, but may not see this. Ask whoever runs the application: the option “authorize” of inspect() decides.'}
      </Empty>
      <p class="retry">
        <button type="button" class="button primary" onClick={() => location.reload()}>
          Try again
        </button>
      </p>
    </Page>
  );
}
