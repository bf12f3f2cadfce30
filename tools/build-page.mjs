// Builds the inspector's page into one module of text, `dist/inspector-assets.cjs`: whoever serves it needs no paths of
// files, and bundlers of users carry it along.
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect x="1" y="4" width="22" height="16" rx="5" fill="#3d5bd9"/><circle cx="15.5" cy="12" r="4" fill="#fff"/></svg>';

/** What the browser loads to show one page. */
const ONE_PAGE = { maxBytes: 100_000, maxGzipBytes: 35_000 };
/** What it loads when somebody opens all. */
const ALL_PAGES = { maxBytes: 150_000, maxGzipBytes: 54_000 };

/** What lists and forms need and the first page does not: one file, as several are larger when they are compressed. */
const SHARED = { name: 'shared', test: /\/page\/(?:ui\/(?:actions|filters|form|payload)|core\/(?:input|json))\.tsx?$/ };

/** Writes the assets of the page. Answers the packages that are bundled in, whose licences must come along. */
export async function buildPage(root, dist) {
  const page = join(root, 'src/inspector/page');
  const chunks = await bundle(root, join(page, 'main.tsx'));
  const style = minifyCss(await concatenated(join(page, 'style')));
  const scripts = chunks.map(({ fileName, code }) => scriptAsset(fileName, code));
  const others = [asset('style', 'css', 'text/css; charset=utf-8', style), asset('icon', 'svg', 'image/svg+xml', ICON)];
  const main = chunks.find(({ isEntry }) => isEntry);
  const index = { path: '', contentType: 'text/html; charset=utf-8', body: html(main.fileName, others) };
  const assets = [index, ...scripts, ...others];
  checkSizes(chunks, assets);
  await writeFile(
    join(dist, 'inspector-assets.cjs'),
    `'use strict';\nObject.defineProperty(exports, '__esModule', { value: true });\nexports.ASSETS = ${JSON.stringify(assets)};\n`,
  );
  return packagesOf(chunks.flatMap(({ moduleIds }) => moduleIds));
}

async function bundle(root, input) {
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'browser',
    preserveEntrySignatures: 'allow-extension',
    tsconfig: false,
    transform: { target: 'es2022', jsx: { runtime: 'automatic', importSource: 'preact' } },
    checks: { bundlerTimings: false },
    onLog(level, log) {
      throw new Error(`rolldown, ${level}: ${log.message}`);
    },
  });
  try {
    const { output } = await build.generate({
      format: 'es',
      minify: true,
      comments: false,
      entryFileNames: 'app-[hash].js',
      chunkFileNames: '[name]-[hash].js',
      codeSplitting: { includeDependenciesRecursively: false, groups: [SHARED] },
    });
    return output;
  } finally {
    await build.close();
  }
}

/** The style sheets in the order of their names. */
async function concatenated(folder) {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.css')).sort();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

/** Drops comments and spaces that mean nothing. No text of ours has two spaces or `/*` in quotes. */
function minifyCss(text) {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,>]) ?/g, '$1')
    .replaceAll(/: /g, ':')
    .replaceAll(';}', '}')
    .trim();
}

function scriptAsset(path, body) {
  return { path, contentType: 'text/javascript; charset=utf-8', body };
}

function asset(name, extension, contentType, body) {
  const hash = createHash('sha256').update(body).digest('base64url').replaceAll(/[-_]/g, '').slice(0, 10);
  return { path: `${name}-${hash}.${extension}`, contentType, body };
}

/** URLs are relative: the page is mounted anywhere. */
function html(script, [style, icon]) {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>insidecar</title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">',
    `<link rel="icon" href="${icon.path}"><link rel="stylesheet" href="${style.path}">`,
    `<script type="module" src="${script}"></script></head>`,
    '<body><noscript>The inspector needs JavaScript.</noscript></body></html>',
  ].join('');
}

/** Code that several pages share is in files that each of them imports. */
function checkSizes(chunks, assets) {
  const loadedBy = ({ fileName, imports }) => [
    fileName,
    ...chunks.filter((chunk) => imports.includes(chunk.fileName)).flatMap(loadedBy),
  ];
  const scripts = chunks.map(({ fileName }) => fileName);
  const sizeWith = (files) => sizeOf(assets.filter(({ path }) => !scripts.includes(path) || files.includes(path)));
  const first = sizeWith(loadedBy(chunks.find(({ isEntry }) => isEntry)));
  const opened = chunks.filter(({ isDynamicEntry }) => isDynamicEntry).map((chunk) => sizeWith(loadedBy(chunk)));
  const [largest] = [first, ...opened].sort((a, b) => b.gzipBytes - a.gzipBytes);
  const all = sizeOf(assets);
  process.stdout.write(`inspector: first page ${first.text}, largest page ${largest.text}, all ${all.text}\n`);
  checkSize('the largest page', largest, ONE_PAGE);
  checkSize('all pages', all, ALL_PAGES);
}

function sizeOf(assets) {
  const bytes = assets.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const gzipBytes = assets.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  return { bytes, gzipBytes, text: `${(bytes / 1000).toFixed(1)} kB (${(gzipBytes / 1000).toFixed(1)} kB gzip)` };
}

function checkSize(what, { bytes, gzipBytes, text }, { maxBytes, maxGzipBytes }) {
  if (bytes <= maxBytes && gzipBytes <= maxGzipBytes) return;
  throw new Error(`inspector, ${what}: ${text}; at most ${maxBytes / 1000} kB (${maxGzipBytes / 1000} kB gzip)`);
}

function packagesOf(moduleIds) {
  const names = moduleIds.map((id) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}
