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

/** Checks a commit out and builds it; its packages are those of here when the lock files are equal. */
export function buildBase(revision: string): BaseBuild {
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`);
  const directory = join(mkdtempSync(join(tmpdir(), 'insidecar-base-')), 'base');
  const dispose = (): void => {
    git('worktree', 'remove', '--force', directory);
    rmSync(join(directory, '..'), { recursive: true, force: true });
  };
  git('worktree', 'add', '--detach', directory, commit);
  try {
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
