import { computed, effect, signal } from '@preact/signals';
import type { AppInfo, AppsReply } from '../../api/apps.ts';
import { ApiFailure, appKey, denied, get } from './client.ts';
import { traceUrl } from './format.ts';
import { navigate, param, route, withQuery } from './router.ts';
import { isWatching } from './visibility.ts';

/** The applications, and what this browser may do. */
export const session = signal<AppsReply | undefined>(undefined);

/** Whether the server answers; its last failure if not. */
export const offline = signal<ApiFailure | undefined>(undefined);

export const currentApp = computed<AppInfo | undefined>(() => {
  const apps = session.value?.apps ?? [];
  return apps.find(({ key }) => key === appKey.value) ?? apps[0];
});

/** Why this browser may not change anything; `undefined` if it may. */
export const readOnlyReason = computed(() =>
  session.value === undefined || session.value.role === 'write' ? undefined : 'You may look, but not change anything',
);

/** The link to the trace of a message or call; `undefined` if there is none. */
export function traceLink(traceparent: string | undefined): string | undefined {
  return traceUrl(session.value?.traceUrl, traceparent);
}

const REFRESH_MS = 5000;

/** Asks for the applications, now and as long as the tab is seen. */
export function startSession(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const load = async () => {
    clearTimeout(timer);
    try {
      session.value = await get('apps');
      offline.value = undefined;
    } catch (error) {
      if (denied.value === undefined) offline.value = error instanceof ApiFailure ? error : undefined;
    }
    timer = setTimeout(() => isWatching.value && void load(), REFRESH_MS);
  };
  effect(() => {
    if (isWatching.value) void load();
    else clearTimeout(timer);
  });
  effect(keepAppInAddress);
}

/** Links to pages do not name the application: it stays, and the address bar shows any but the first. */
function keepAppInAddress(): void {
  const named = route.value.query.get('app');
  const first = session.value?.apps[0]?.key;
  if (named !== null) appKey.value = named;
  else if (appKey.value !== undefined && appKey.value !== first) {
    navigate(withQuery({ app: appKey.value }, { keepsView: true }), { replace: true });
  }
}

/** The link to this page of another application. Open panels and filters belong to this one. */
export function linkToApp(key: string): string {
  return `#/${route.value.path[0] ?? ''}?app=${encodeURIComponent(key)}`;
}

/** The text that is searched for, as the search field shows it. */
export const searched = computed(() => param('text') ?? '');
