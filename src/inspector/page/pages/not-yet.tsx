import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';

export function NotYet() {
  return (
    <Page title="Not yet">
      <Empty title="This page is not written yet." />
    </Page>
  );
}
