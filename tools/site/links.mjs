// Every link from a page of the site to one of its pages leads to a file that there is, and to a heading in it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** What is wrong with the links of the HTML in a directory: one line each. `base` is where the site lies on its server. */
export function problemsOf(dist, base = process.env.SITE_BASE ?? '/') {
  const files = readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.html'));
  const pages = new Map(
    files.map((file) => [posix.normalize(file.replaceAll('\\', '/')), readFileSync(join(dist, file), 'utf8')]),
  );
  const anchors = new Map(
    [...pages].map(([file, html]) => [file, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  );
  return [...pages].flatMap(([file, html]) =>
    [...new Set([...html.matchAll(/<a [^>]*?href="([^"]+)"/g)].map(([, link]) => link))].flatMap((link) => {
      if (/^[a-z]+:|^\/\//.test(link)) return [];
      const [path, anchor] = link.split('#');
      const absolute = path.startsWith('/')
        ? path.slice(base.length)
        : path === ''
          ? file
          : posix.join(posix.dirname(file), path);
      const target = /\/$|^$/.test(absolute) ? `${absolute}index.html` : absolute;
      const found = anchors.get(target);
      if (found === undefined) return existsSync(join(dist, target)) ? [] : [`${file}: ${link}: there is no ${target}`];
      return anchor === undefined || anchor === '' || found.has(decodeURIComponent(anchor))
        ? []
        : [`${file}: ${link}: there is no such heading`];
    }),
  );
}
