// Packages that are bundled in, each into a file of its own. One file takes a fraction of the memory and the time that
// Node needs for the many files of a package (yaml 1 instead of 8 MiB), and has only what is used.
// These files are minified and have no source maps: nobody debugs them here.
import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minifySync } from 'rolldown/experimental';
import { escaped } from './deferred.mjs';

/** The files by their packages, each with all that it depends on. jose is an ES module only, which Jest cannot require. */
const NAMES = ['jose', 'yaml'];

/** The files, with the names of the packages in them. */
export function vendoredFiles(root) {
  return NAMES.map((name) => ({ name, packages: withDependencies(root, name) }));
}

function withDependencies(root, name, found = []) {
  if (found.includes(name)) return found;
  found.push(name);
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
  for (const one of Object.keys(dependencies)) withDependencies(root, one, found);
  return found;
}

/** Which modules belong into the file of these packages. */
export function testOf(packages) {
  return new RegExp(`/node_modules/(${packages.join('|')})/`);
}

/** Names of classes are in logs, as those of errors. */
const KEPT = { mangle: { keepNames: true }, compress: { keepNames: { class: true, function: true } } };

/** Minifies a file of packages that has been written. */
export async function minify(dist, name) {
  const path = join(dist, `${name}.cjs`);
  const { code, errors } = minifySync(path, await readFile(path, 'utf8'), { ...KEPT, sourcemap: false });
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  await writeFile(path, escaped(code));
  await rm(`${path}.map`);
}
