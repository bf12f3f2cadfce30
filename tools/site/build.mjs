// Builds the site of `docs/` into `tools/site/temp/dist`: npm run site. The pages are those of the repository; what a site needs
// otherwise is changed in a copy of them: where links lead, one page for each name of the reference, `llms.txt`, and each
// page as Markdown beside its HTML. Fails on a link that leads nowhere, headings included.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';
import { problemsOf } from './links.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const REPOSITORY = 'https://github.com/insidecar/insidecar/';
// Below the packages of the site, which its pages import.
const out = fileURLToPath(new URL('./temp', import.meta.url));
const pages = join(out, 'pages');
const copied = ['README.md', 'CHANGELOG.md', 'SECURITY.md'];

/** The pages of the site by their path on it, and the file of the repository that each one is made from. */
function sources() {
  const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && name !== 'README.md');
  return new Map([
    ['index.md', 'README.md'],
    ['contents.md', 'docs/README.md'],
    ...copied.slice(1).map((name) => [name.toLowerCase(), name]),
    ...guides.map((name) => [name, `docs/${name}`]),
  ]);
}

const pageOfFile = new Map([...sources()].map(([page, file]) => [file, page]));

/** Every name of the reference has a page: its path, by the page of `docs/api` and the anchor there. */
const references = readdirSync(join(root, 'docs/api')).map((file) => referenceOf(file));
const pageOfAnchor = new Map(
  references.flatMap(({ file, sections }) => sections.map(({ page, anchor }) => [`docs/api/${file}#${anchor}`, page])),
);
for (const { file, entry } of references) pageOfFile.set(`docs/api/${file}`, `api/${entry}/index.md`);

/** A page of the reference, cut at the heading of each name. */
function referenceOf(file) {
  const [head, ...parts] = readFileSync(join(root, 'docs/api', file), 'utf8').split(/^## (?=\w+ \w+$)/m);
  const entry = file.replace(/\.md$/, '').replace(/^insidecar-/, '');
  const sections = parts.map((text) => {
    const [heading, name] = /^\w+ (\w+)/.exec(text);
    // Files of some systems do not tell `Job` from `job`: the kind does.
    const kind = heading.split(' ')[0];
    return {
      text: `# ${text}`,
      name,
      kind,
      anchor: heading.toLowerCase().replace(' ', '-'),
      page: `api/${entry}/${kind}-${name}.md`,
    };
  });
  return { file, entry, head, sections };
}

/** Where a link of a file of the repository leads on the site. */
function linkFrom(page, file, link) {
  const target = link.startsWith(`${REPOSITORY}blob/main/`) ? link.slice(`${REPOSITORY}blob/main/`.length) : undefined;
  if (target === undefined && /^(?:[a-z]+:|#$)/.test(link)) return link;
  const [path, anchor] = (
    target ??
    posix.join(
      posix.dirname(file),
      link.replace(/^#.*/, (all) => posix.basename(file) + all),
    )
  ).split('#');
  const section = anchor === undefined ? undefined : pageOfAnchor.get(`${path}#${anchor}`);
  const found = section ?? pageOfFile.get(path);
  if (found === undefined) return `${REPOSITORY}blob/main/${path}${anchor === undefined ? '' : `#${anchor}`}`;
  const relative = posix.relative(posix.dirname(page), found);
  const from = relative.startsWith('.') ? relative : `./${relative}`;
  return anchor === undefined || section !== undefined ? from : `${from}#${anchor}`;
}

/** The text of a page, with links and pictures as they are on the site, and nothing that Vue would take for its own. */
function onSite(page, file, text) {
  const [before, ...rest] = text.split(/(^```[\s\S]*?^```$)/m).map((part, index) =>
    index % 2 === 1
      ? part
      : part
          .replaceAll(/(?<=\]\()[^)\s]+(?=[)\s])/g, (link) =>
            /^images\//.test(link) ? `./${link}` : linkFrom(page, file, link),
          )
          .replaceAll(/(?<=(?:srcset|src)=")images\//g, './images/')
          .replaceAll(/`[^`\n]*\{\{[^`\n]*`/g, (code) => `<code v-pre>${escaped(code.slice(1, -1))}</code>`),
  );
  return [before, ...rest].join('');
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The title, and what comes first below it. */
function summaryOf(text) {
  const [, title = ''] = /^# (.+)$/m.exec(text) ?? [];
  const [, first = ''] = /^# .+\n+([^\n#|`<].*)$/m.exec(text) ?? [];
  return {
    title: title.replaceAll('`', ''),
    first: first.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replace(/\. .*/, '.'),
  };
}

/** The contents of `docs/README.md`: what the side bar and llms.txt are made from, so that it stands in one place. */
function contents() {
  const [, ...sections] = readFileSync(join(root, 'docs/README.md'), 'utf8').split(/^## /m);
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const links = lines.join('\n').matchAll(/\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)]+)\)/g);
    const items = [...links].flatMap(([, text, link]) => {
      const [path, anchor] = linkFrom('contents.md', 'docs/README.md', link).split('#');
      if (path.startsWith('https:')) return [];
      const name = text.startsWith('`/') ? `\`insidecar${text.slice(1)}` : text.charAt(0).toUpperCase() + text.slice(1);
      return [{ text: name.replaceAll('`', ''), page: path.replace(/^\.\//, ''), anchor }];
    });
    return { text: title, items };
  });
}

rmSync(out, { recursive: true, force: true });
const markdown = new Map();
for (const [page, file] of sources()) markdown.set(page, onSite(page, file, readFileSync(join(root, file), 'utf8')));
for (const { file, entry, head, sections } of references) {
  const from = `docs/api/${file}`;
  markdown.set(`api/${entry}/index.md`, onSite(`api/${entry}/index.md`, from, head));
  for (const { page, text } of sections)
    markdown.set(page, onSite(page, from, text.replaceAll(/^###/gm, '##').replace(/^# \w+ /, '# ')));
}
for (const [page, text] of markdown) write(join(pages, page), text);
cpSync(join(root, 'docs/images'), join(pages, 'images'), { recursive: true });
write(
  join(out, 'contents.json'),
  JSON.stringify({
    contents: contents(),
    references: references.map(({ entry, sections }) => ({
      entry,
      names: sections.map(({ name, kind, page }) => ({ name, kind, page })),
    })),
  }),
);

const index = contents().flatMap(({ text, items }) => [
  `\n## ${text}\n`,
  ...items
    .filter(({ anchor, page }) => anchor === undefined && markdown.has(page))
    .map(({ text: name, page }) => `- [${name}](${page}): ${summaryOf(markdown.get(page)).first}`),
]);
const about = summaryOf(markdown.get('index.md'));
await build(fileURLToPath(new URL('.', import.meta.url)));
const dist = join(out, 'dist');
for (const [page, text] of markdown) write(join(dist, page), text);
for (const path of ['mermaid.esm.min.mjs', 'chunks/mermaid.esm.min'])
  cpSync(join(root, 'tools/site/node_modules/mermaid/dist', path), join(dist, 'mermaid', path), {
    recursive: true,
    filter: (source) => !source.endsWith('.map'),
  });
write(join(dist, 'llms.txt'), `# ${about.title}\n\n> ${about.first}\n${index.join('\n')}\n`);
const problems = problemsOf(dist);
console.log(`site: ${markdown.size} pages in ${dist.slice(root.length)}`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
