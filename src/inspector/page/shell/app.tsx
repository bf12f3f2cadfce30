import { denied } from '../core/client.ts';
import { link, route } from '../core/router.ts';
import { currentApp, offline, session } from '../core/session.ts';
import { NAVIGATION, PAGES } from '../pages.ts';
import { ConfirmHost } from '../ui/confirm.tsx';
import { KeyboardHelp } from '../ui/keyboard-help.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Notice } from '../ui/states.tsx';
import { ToastList } from '../ui/toast-list.tsx';
import { Denied } from './denied.tsx';
import { Navigation } from './navigation.tsx';
import { TopBar } from './top-bar.tsx';

/** All that is in the page. */
export function App() {
  return (
    <>
      <button type="button" class="skip" onClick={focusHeading}>
        Skip to content
      </button>
      <TopBar />
      <Navigation />
      <main id="main">{denied.value === undefined ? <Content /> : <Denied failure={denied.value} />}</main>
      <ToastList />
      <ConfirmHost />
      <KeyboardHelp pages={NAVIGATION.map(({ letter, title }) => [letter, title] as const)} />
    </>
  );
}

/** A button, because the hash is the page: a link to `#main` would be another one. */
function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus();
}

function Content() {
  if (session.value === undefined) {
    return offline.value === undefined ? (
      <p class="loading">Loading…</p>
    ) : (
      <Notice tone="bad">{offline.value.message}</Notice>
    );
  }
  const path = route.value.path[0] ?? '';
  const page = PAGES.find((spec) => spec.path === path);
  return (
    <>
      {offline.value === undefined ? null : (
        <Notice tone="bad">
          <span role="alert">{offline.value.message}</span> What is shown is old.
        </Notice>
      )}
      {page === undefined ? <Unknown path={path} /> : <page.view key={`${path} ${currentApp.value?.key}`} />}
    </>
  );
}

function Unknown({ path }: { readonly path: string }) {
  return (
    <Page title="No such page">
      <Empty title={`There is no page “${path}”.`}>
        <a href={link('')}>Go to the overview</a>
      </Empty>
    </Page>
  );
}
