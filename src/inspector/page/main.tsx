import { render } from 'preact';
import { startKeys } from './core/keys.ts';
import { link } from './core/router.ts';
import { startSession } from './core/session.ts';
import { startTheme } from './core/theme.ts';
import { NAVIGATION } from './pages.ts';
import { App } from './shell/app.tsx';

startTheme();
startKeys(new Map(NAVIGATION.map(({ letter, path }) => [letter, link(path)])));
startSession();
render(<App />, document.body);
