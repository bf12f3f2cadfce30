import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const out = fileURLToPath(new URL('../temp/', import.meta.url));
const { contents, references } = JSON.parse(readFileSync(join(out, 'contents.json'), 'utf8'));
const linkOf = (page, anchor) => `/${page.replace(/(?:index)?\.md$/, '')}${anchor === undefined ? '' : `#${anchor}`}`;

const guides = contents.map(({ text, items }) => ({
  text,
  items: items.map(({ text: name, page, anchor }) => ({ text: name, link: linkOf(page, anchor) })),
}));

/** The classes and functions of an entry. Its types are behind links: in each page's bar they would be most of the site. */
function sidebarOf({ entry, names }) {
  const of = (...kinds) =>
    names.filter(({ kind }) => kinds.includes(kind)).map(({ name, page }) => ({ text: name, link: linkOf(page) }));
  const groups = [
    { text: 'Classes', items: of('class') },
    { text: 'Functions', items: of('function', 'const') },
  ];
  return [
    { text: 'All guides', link: '/contents' },
    { text: entry === 'insidecar' ? entry : `insidecar/${entry}`, link: `/api/${entry}/` },
    ...groups.filter(({ items }) => items.length > 0),
  ];
}

/** GitHub's names of headings, which the links in the documents use. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

export default defineConfig({
  title: 'insidecar',
  description: "A sidecar runtime inside your own Node process: Dapr's HTTP API as a TypeScript library",
  base: process.env.SITE_BASE ?? '/',
  srcDir: join(out, 'pages'),
  outDir: join(out, 'dist'),
  cacheDir: join(out, 'cache'),
  lastUpdated: false,
  // No icon: without this, browsers ask for one that is not there.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // Pages about http://localhost and http://127.0.0.1 have such links on purpose.
  ignoreDeadLinks: [/^https?:\/\/(?:localhost|127\.0\.0\.1)/],
  markdown: {
    anchor: { slugify },
    config(md) {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info.trim() === 'mermaid'
          ? `<ClientOnly><Diagram code="${encodeURIComponent(tokens[index].content)}" /></ClientOnly>`
          : fence(tokens, index, ...rest);
    },
  },
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/contents' },
      { text: 'Reference', link: '/api/insidecar/' },
      { text: 'Changes', link: '/changelog' },
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/insidecar/insidecar' }],
    sidebar: {
      ...Object.fromEntries(references.map((reference) => [`/api/${reference.entry}/`, sidebarOf(reference)])),
      '/': guides,
    },
  },
});
