import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = fileURLToPath(new URL('../..', import.meta.url));

/** A build of an earlier commit, in a directory that {@link Symbol.dispose} removes. */
export interface BaseBuild extends Disposable {
  readonly commit: string;
  /** The URL of its directory. */
  readonly root: string;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: here, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** The commit before this one; `undefined` in a clone that has only the last commit. */
export function findBase(): string | undefined {
  try {
    return git('rev-parse', 'HEAD^');
  } catch {
    return undefined;
  }
}

/** Builds a copy of a commit; its packages are those of here when the lock files are equal. */
export function buildBase(revision: string): BaseBuild {
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`);
  const directory = mkdtempSync(join(tmpdir(), 'insidecar-base-'));
  const dispose = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    // Not a worktree: the repository would keep a note of one whose process was killed.
    git('archive', '--output', join(directory, 'base.tar'), commit);
    execFileSync('tar', ['-xf', 'base.tar'], { cwd: directory });
    const npm = (...args: readonly string[]): void => {
      execFileSync('npm', args, { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] });
    };
    const lockOf = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8');
    if (lockOf(directory) === lockOf(here)) symlinkSync(join(here, 'node_modules'), join(directory, 'node_modules'));
    else npm('ci', '--no-audit', '--no-fund');
    npm('run', 'build');
  } catch (error) {
    dispose();
    throw error;
  }
  return { commit, root: pathToFileURL(`${directory}/`).href, [Symbol.dispose]: dispose };
}
