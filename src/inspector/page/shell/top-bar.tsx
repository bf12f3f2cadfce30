import { useEffect, useRef } from 'preact/hooks';
import { isHelpOpen } from '../core/keys.ts';
import { liveStatus } from '../core/live.ts';
import { link, navigate, withQuery } from '../core/router.ts';
import { currentApp, linkToApp, offline, searched, session } from '../core/session.ts';
import { theme, toggleTheme } from '../core/theme.ts';
import { isPaused } from '../core/visibility.ts';

export function TopBar() {
  return (
    <header class="top">
      <a class="brand" href={link('')} aria-label="insidecar: overview">
        <Logo />
        <span>insidecar</span>
      </a>
      <AppSwitch />
      <Health />
      <Search />
      <div class="top-tools">
        <Role />
        <PauseButton />
        <ThemeButton />
        <button
          type="button"
          class="button tool"
          aria-label="Keyboard help"
          title="Keys (?)"
          onClick={() => {
            isHelpOpen.value = true;
          }}
        >
          ?
        </button>
      </div>
    </header>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <rect x="1" y="4" width="22" height="16" rx="5" class="logo-body" />
      <circle cx="15.5" cy="12" r="4" class="logo-car" />
    </svg>
  );
}

function AppSwitch() {
  const apps = session.value?.apps ?? [];
  const current = currentApp.value;
  if (current === undefined) return null;
  if (apps.length === 1) return <strong class="app-name">{current.key}</strong>;
  return (
    <select
      class="app-name"
      aria-label="Application"
      value={current.key}
      onChange={(event) => {
        // The first one is not in the address: the way back must lead to it all the same.
        navigate(withQuery({ app: current.key }, { keepsView: true }), { replace: true });
        navigate(linkToApp(event.currentTarget.value));
      }}
    >
      {apps.map(({ key, isReady }) => (
        <option key={key} value={key}>
          {isReady ? key : `${key} (not ready)`}
        </option>
      ))}
    </select>
  );
}

function Health() {
  const isReady = currentApp.value?.isReady;
  if (offline.value !== undefined) return <State tone="bad" text="no answer" />;
  if (isReady === undefined) return null;
  return isReady ? <State tone="good" text="ready" /> : <State tone="bad" text="not ready" />;
}

function State({ tone, text }: { readonly tone: string; readonly text: string }) {
  return (
    <a class={`health ${tone}`} href={link('settings')} title="Health: see the settings">
      <span class="dot" aria-hidden="true" />
      {text}
    </a>
  );
}

/** Looks for text in messages: their IDs, reasons and data. */
function Search() {
  const input = useRef<HTMLInputElement>(null);
  const text = searched.value;
  useEffect(() => {
    if (input.current !== null) input.current.value = text;
  }, [text]);
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = input.current?.value.trim();
          if (wanted) navigate(link('search', { text: wanted }));
        }}
      >
        <input
          ref={input}
          id="search"
          type="search"
          aria-label="Search messages, calls, jobs and workflows"
          placeholder="Search  /"
          autocomplete="off"
          spellcheck={false}
        />
      </form>
    </search>
  );
}

function Role() {
  const { role, who } = session.value ?? {};
  if (role === undefined) return null;
  return (
    <span class="role" title={who === undefined ? undefined : `You are ${who}`}>
      {role === 'read' ? 'read only' : (who ?? 'read and write')}
    </span>
  );
}

const LIVE_TEXT = {
  off: 'live',
  open: 'live',
  connecting: 'connecting',
  lost: 'reconnecting',
  ended: 'stopped',
  paused: 'paused',
} as const;

function PauseButton() {
  const status = liveStatus.value;
  return (
    <button
      type="button"
      class={`button live ${status}`}
      aria-pressed={isPaused.value}
      title={isPaused.value ? 'Resume (p)' : 'Pause (p): the page stands still'}
      onClick={() => {
        isPaused.value = !isPaused.value;
      }}
    >
      <span aria-hidden="true">{isPaused.value ? '▶' : '❚❚'}</span> {LIVE_TEXT[status]}
    </button>
  );
}

const THEME_MARKS = { auto: '◐', light: '☀', dark: '☾' } as const;

function ThemeButton() {
  return (
    <button
      type="button"
      class="button tool"
      aria-label={`Theme: ${theme.value}. Change it`}
      title={`Theme: ${theme.value}`}
      onClick={toggleTheme}
    >
      <span aria-hidden="true">{THEME_MARKS[theme.value]}</span>
    </button>
  );
}
