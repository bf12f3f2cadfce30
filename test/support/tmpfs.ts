import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** A file system of its own in memory until the test is over, or nothing where this user may not mount one. */
export function mountTmpfs(path: string, options: string): boolean {
  mkdirSync(path, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return false;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', path]));
  return true;
}

export function remountTmpfs(path: string, options: string): void {
  execFileSync('mount', ['-o', `remount,${options}`, path]);
}
