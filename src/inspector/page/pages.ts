import type { ComponentType } from 'preact';
import { lazy } from './core/lazy.tsx';
import { Overview } from './pages/overview.tsx';

/** A page of the inspector. */
export interface PageSpec {
  /** The first part of its path; `''` for the first page. */
  readonly path: string;
  readonly title: string;
  /** With `g`, it leads here. Without, the page is not in the navigation. */
  readonly letter?: string;
  readonly view: ComponentType;
}

// The first page shall come at once: these are loaded when they are opened, those of one file together.
const observing = () => import('./pages/observing.ts');
const operating = () => import('./pages/operating.ts');
const Messages = lazy(observing, 'Messages');
const Calls = lazy(observing, 'Calls');
const Hosts = lazy(observing, 'Hosts');
const Search = lazy(observing, 'Search');
const Settings = lazy(observing, 'Settings');
const Queues = lazy(operating, 'Queues');
const DeadLetters = lazy(operating, 'DeadLetters');
const Subscriptions = lazy(operating, 'Subscriptions');
const Jobs = lazy(operating, 'Jobs');
const Stores = lazy(() => import('./pages/stores/stores.tsx'), 'Stores');
const Workflows = lazy(() => import('./pages/workflows/workflows.tsx'), 'Workflows');

/** In the order of the navigation. */
export const PAGES: readonly PageSpec[] = [
  { path: '', title: 'Overview', letter: 'o', view: Overview },
  { path: 'messages', title: 'Messages', letter: 'm', view: Messages },
  { path: 'queues', title: 'Queues', letter: 'q', view: Queues },
  { path: 'dead-letters', title: 'Dead letters', letter: 'd', view: DeadLetters },
  { path: 'subscriptions', title: 'Subscriptions', letter: 's', view: Subscriptions },
  { path: 'jobs', title: 'Jobs', letter: 'j', view: Jobs },
  { path: 'workflows', title: 'Workflows', letter: 'w', view: Workflows },
  { path: 'stores', title: 'Stores', letter: 'r', view: Stores },
  { path: 'calls', title: 'Calls', letter: 'c', view: Calls },
  { path: 'hosts', title: 'Hosts', letter: 'h', view: Hosts },
  { path: 'settings', title: 'Settings', letter: 't', view: Settings },
  { path: 'search', title: 'Search', view: Search },
];

/** The pages that the navigation shows. */
export const NAVIGATION = PAGES.flatMap(({ letter, ...page }) => (letter === undefined ? [] : [{ ...page, letter }]));
