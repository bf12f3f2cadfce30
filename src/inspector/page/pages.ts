import type { ComponentType } from 'preact';
import { lazy } from './core/lazy.tsx';
import { Overview } from './pages/overview.tsx';

/** A page of the inspector. */
export interface PageSpec {
  /** The first part of its path; `''` for the first page. */
  readonly path: string;
  readonly title: string;
  /** With `g`, it leads here. Empty: the page is not in the navigation. */
  readonly letter: string;
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
const Actors = lazy(() => import('./pages/actors/actors.tsx'), 'Actors');
const Workflows = lazy(() => import('./pages/workflows/workflows.tsx'), 'Workflows');

/** A page whose path is its title. */
function page(title: string, view: ComponentType, letter = ''): PageSpec {
  return { path: title.toLowerCase().replace(' ', '-'), title, letter, view };
}

/** In the order of the navigation. */
export const PAGES: readonly PageSpec[] = [
  { ...page('Overview', Overview, 'o'), path: '' },
  page('Messages', Messages, 'm'),
  page('Queues', Queues, 'q'),
  page('Dead letters', DeadLetters, 'd'),
  page('Subscriptions', Subscriptions, 's'),
  page('Jobs', Jobs, 'j'),
  page('Workflows', Workflows, 'w'),
  page('Actors', Actors, 'a'),
  page('Stores', Stores, 'r'),
  page('Calls', Calls, 'c'),
  page('Hosts', Hosts, 'h'),
  page('Settings', Settings, 't'),
  page('Search', Search),
];

/** The pages that the navigation shows. */
export const NAVIGATION: readonly PageSpec[] = PAGES.filter(({ letter }) => letter !== '');
