import type { ChildProcess } from 'node:child_process';

/**
 * A shell that briefly outlives this process: it reads our process groups from a pipe, and when the pipe closes because
 * this process has ended in any way, it ends the remaining groups. Node cannot ask the kernel for that (`PDEATHSIG`); a
 * shell takes about a megabyte.
 */
const SCRIPT = `
trap '' INT TERM HUP
groups=' '
while read -r word group; do
  case $word in
    hold) groups="$groups$group " ;;
    drop)
      rest=' '
      for one in $groups; do [ "$one" = "$group" ] || rest="$rest$one "; done
      groups=$rest ;;
  esac
done
for group in $groups; do kill -TERM "-$group" 2>/dev/null; done
tries=0
while [ $tries -lt 20 ]; do
  rest=' '
  for group in $groups; do kill -0 "-$group" 2>/dev/null && rest="$rest$group "; done
  groups=$rest
  [ "$groups" = ' ' ] && exit 0
  sleep 0.1
  tries=$((tries + 1))
done
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
`;

/** Ends our process groups if this process dies without ending them. */
export class OrphanReaper {
  #shell: ChildProcess | undefined;

  /** Starts the shell. To be called before a process is started: a run without one needs neither shell nor module. */
  open(): void {
    if (process.platform === 'win32' || this.#shell !== undefined) return;
    const { spawn } = process.getBuiltinModule('node:child_process');
    // In its own session, so that signals to our group or from our terminal do not reach it.
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' });
    // Without a shell there is no guard; everything else works.
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  /** Adds a process group. */
  hold(group: number): void {
    this.#shell?.stdin?.write(`hold ${group}\n`);
  }

  /** Removes a process group that has ended: its number may soon be reused. */
  drop(group: number): void {
    this.#shell?.stdin?.write(`drop ${group}\n`);
  }

  close(): void {
    this.#shell?.stdin?.end();
  }
}
