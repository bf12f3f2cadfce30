import { useEffect, useRef } from 'preact/hooks';
import { link, route } from '../core/router.ts';
import { NAVIGATION } from '../pages.ts';

export function Navigation() {
  const current = route.value.path[0] ?? '';
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // On narrow screens, the pages stand in a row that scrolls.
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  return (
    <nav class="side" aria-label="Pages">
      <ul ref={list}>
        {NAVIGATION.map(({ path, title, letter }) => (
          <li key={path}>
            <a href={link(path)} aria-current={path === current ? 'page' : undefined}>
              {title}
              <span class="letter" aria-hidden="true">
                {letter}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
