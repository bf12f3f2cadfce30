import { link, route } from '../core/router.ts';
import { NAVIGATION } from '../pages.ts';

export function Navigation() {
  const current = route.value.path[0] ?? '';
  return (
    <nav class="side" aria-label="Pages">
      <ul>
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
