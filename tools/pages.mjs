// Writes the documents that are made from comments of the sources: npm run pages. A test compares them.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorsPage } from './errors-page.mjs';
import { optionsPage } from './options-page.mjs';

/** What makes each document, by its path. */
export const PAGES = { 'docs/options.md': optionsPage, 'docs/errors.md': errorsPage };

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [path, page] of Object.entries(PAGES)) writeFileSync(new URL(`../${path}`, import.meta.url), page());
