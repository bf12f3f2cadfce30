import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Report, wholeFile } from './report.ts';

/** A directory with more files is not a resource directory. */
const MAX_FILES = 1_000;

/** The files at the given paths: the files themselves, or the YAML files directly in a directory, sorted by name. */
export async function findFiles(paths: readonly string[], report: Report): Promise<string[]> {
  const found = await Promise.all(paths.map((path) => filesOf(path, report)));
  // A file named twice would define everything twice.
  return [...new Set(found.flat())];
}

async function filesOf(path: string, report: Report): Promise<string[]> {
  try {
    const about = await stat(path);
    if (about.isFile()) return [path];
    if (!about.isDirectory()) throw new Error('not a file');
  } catch {
    report.problem(wholeFile(path), 'there is no such directory or file');
    return [];
  }
  const names = (await readdir(path)).filter((name) => /\.ya?ml$/.test(name)).sort();
  if (names.length > MAX_FILES) {
    report.problem(wholeFile(path), `it has ${names.length} YAML files: expected at most ${MAX_FILES}`);
    return [];
  }
  const files = await Promise.all(
    names.map(async (name) => ((await isFile(join(path, name))) ? [join(path, name)] : [])),
  );
  return files.flat();
}

/** A broken link counts as a file, so that reading it reports the error. */
async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (about) => about.isFile(),
    () => true,
  );
}
