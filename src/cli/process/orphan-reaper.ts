import { type ChildProcess, spawn } from 'node:child_process';

/**
 * A shell that outlives us by a moment: it reads from a pipe which process groups are ours, and when the pipe ends –
 * because we have, in whatever way – it ends those that are left. Node cannot ask the kernel to do that (`PDEATHSIG`),
 * and a shell weighs a megabyte.
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

/** Ends the process groups that are ours when this process has gone without ending them. */
export class OrphanReaper {
  readonly #shell: ChildProcess | undefined;

  constructor() {
    if (process.platform === 'win32') return;
    // In a session of its own: what is sent to our group or comes from our terminal does not reach it.
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' });
    // Without a shell there is no guard; everything else works.
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  /** This group is ours. */
  hold(group: number): void {
    this.#shell?.stdin?.write(`hold ${group}\n`);
  }

  /** This group has ended: its number may soon be somebody else's. */
  drop(group: number): void {
    this.#shell?.stdin?.write(`drop ${group}\n`);
  }

  close(): void {
    this.#shell?.stdin?.end();
  }
}
