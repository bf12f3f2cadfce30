import type { ComponentType } from 'preact';
import { Calls } from './pages/calls.tsx';
import { DeadLetters } from './pages/dead-letters/dead-letters.tsx';
import { Hosts } from './pages/hosts.tsx';
import { Jobs } from './pages/jobs/jobs.tsx';
import { Messages } from './pages/messages.tsx';

import { Overview } from './pages/overview.tsx';
import { Queues } from './pages/queues/queues.tsx';
import { Search } from './pages/search.tsx';
import { Settings } from './pages/settings.tsx';
import { Subscriptions } from './pages/subscriptions.tsx';
import { Workflows } from './pages/workflows/workflows.tsx';

/** A page of the inspector. */
export interface PageSpec {
  /** The first part of its path; `''` for the first page. */
  readonly path: string;
  readonly title: string;
  /** With `g`, it leads here. Without, the page is not in the navigation. */
  readonly letter?: string;
  readonly view: ComponentType;
}

/** In the order of the navigation. */
export const PAGES: readonly PageSpec[] = [
  { path: '', title: 'Overview', letter: 'o', view: Overview },
  { path: 'messages', title: 'Messages', letter: 'm', view: Messages },
  { path: 'queues', title: 'Queues', letter: 'q', view: Queues },
  { path: 'dead-letters', title: 'Dead letters', letter: 'd', view: DeadLetters },
  { path: 'subscriptions', title: 'Subscriptions', letter: 's', view: Subscriptions },
  { path: 'jobs', title: 'Jobs', letter: 'j', view: Jobs },
  { path: 'workflows', title: 'Workflows', letter: 'w', view: Workflows },
  { path: 'calls', title: 'Calls', letter: 'c', view: Calls },
  { path: 'hosts', title: 'Hosts', letter: 'h', view: Hosts },
  { path: 'settings', title: 'Settings', letter: 't', view: Settings },
  { path: 'search', title: 'Search', view: Search },
];

/** The pages that the navigation shows. */
export const NAVIGATION = PAGES.flatMap(({ letter, ...page }) => (letter === undefined ? [] : [{ ...page, letter }]));
