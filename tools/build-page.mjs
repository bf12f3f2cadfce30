// Builds the inspector's page into one module of text, `dist/inspector-assets.cjs`: whoever serves it needs no paths of
// files, and bundlers of users carry it along.
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect x="1" y="4" width="22" height="16" rx="5" fill="#3d5bd9"/><circle cx="15.5" cy="12" r="4" fill="#fff"/></svg>';

const MAX_BYTES = 135_000;
const MAX_GZIP_BYTES = 44_500;

/** Writes the assets of the page. Answers the packages that are bundled in, whose licences must come along. */
export async function buildPage(root, dist) {
  const page = join(root, 'src/inspector/page');
  const script = await bundle(root, join(page, 'main.tsx'));
  const style = minifyCss(await concatenated(join(page, 'style')));
  const hashed = [
    asset('app', 'js', 'text/javascript; charset=utf-8', script.code),
    asset('style', 'css', 'text/css; charset=utf-8', style),
    asset('icon', 'svg', 'image/svg+xml', ICON),
  ];
  const assets = [{ path: '', contentType: 'text/html; charset=utf-8', body: html(hashed.map(({ path }) => path)) }];
  assets.push(...hashed);
  checkSize(assets);
  await writeFile(
    join(dist, 'inspector-assets.cjs'),
    `'use strict';\nObject.defineProperty(exports, '__esModule', { value: true });\nexports.ASSETS = ${JSON.stringify(assets)};\n`,
  );
  return packagesOf(script.moduleIds);
}

async function bundle(root, input) {
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'browser',
    tsconfig: false,
    transform: { target: 'es2022', jsx: { runtime: 'automatic', importSource: 'preact' } },
    onLog(level, log) {
      throw new Error(`rolldown, ${level}: ${log.message}`);
    },
  });
  try {
    const { output } = await build.generate({ format: 'es', minify: true, comments: false, codeSplitting: false });
    return output[0];
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
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .replaceAll(/: /g, ':')
    .replaceAll(';}', '}')
    .trim();
}

function asset(name, extension, contentType, body) {
  const hash = createHash('sha256').update(body).digest('base64url').replaceAll(/[-_]/g, '').slice(0, 10);
  return { path: `${name}-${hash}.${extension}`, contentType, body };
}

/** URLs are relative: the page is mounted anywhere. */
function html([script, style, icon]) {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>insidecar</title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">',
    `<link rel="icon" href="${icon}"><link rel="stylesheet" href="${style}">`,
    `<script type="module" src="${script}"></script></head>`,
    '<body><noscript>The inspector needs JavaScript.</noscript></body></html>',
  ].join('');
}

function checkSize(assets) {
  const bytes = assets.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const gzipBytes = assets.reduce((sum, { body }) => sum + gzipSync(body, { level: 9 }).length, 0);
  const size = `inspector page: ${(bytes / 1000).toFixed(1)} kB, ${(gzipBytes / 1000).toFixed(1)} kB gzip`;
  if (bytes > MAX_BYTES || gzipBytes > MAX_GZIP_BYTES) {
    throw new Error(`${size}: at most ${MAX_BYTES / 1000} kB, ${MAX_GZIP_BYTES / 1000} kB gzip`);
  }
  process.stdout.write(`${size}\n`);
}

function packagesOf(moduleIds) {
  const names = moduleIds.map((id) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}
