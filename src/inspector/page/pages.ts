import type { ComponentType } from 'preact';
import { NotYet } from './pages/not-yet.tsx';
import { Overview } from './pages/overview.tsx';

/** A page of the inspector. */
export interface PageSpec {
  /** The first part of its path; `''` for the first page. */
  readonly path: string;
  readonly title: string;
  /** With `g`, it leads here. */
  readonly letter: string;
  readonly view: ComponentType;
}

/** In the order of the navigation. */
export const PAGES: readonly PageSpec[] = [
  { path: '', title: 'Overview', letter: 'o', view: Overview },
  { path: 'messages', title: 'Messages', letter: 'm', view: NotYet },
  { path: 'queues', title: 'Queues', letter: 'q', view: NotYet },
  { path: 'dead-letters', title: 'Dead letters', letter: 'd', view: NotYet },
  { path: 'subscriptions', title: 'Subscriptions', letter: 's', view: NotYet },
  { path: 'jobs', title: 'Jobs', letter: 'j', view: NotYet },
  { path: 'workflows', title: 'Workflows', letter: 'w', view: NotYet },
  { path: 'calls', title: 'Calls', letter: 'c', view: NotYet },
  { path: 'hosts', title: 'Hosts', letter: 'h', view: NotYet },
  { path: 'settings', title: 'Settings', letter: 't', view: NotYet },
];
