import { type Flag, readArguments } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { misuse } from './failure.ts';
import { TARGET_FLAGS } from './operate/flags.ts';
import { GROUPS } from './operate/operate.ts';
import { HELP, MIGRATE_STATE_FLAGS, POSTGRESQL_DDL_FLAGS, RUN_GROUPS, VALIDATE_FLAGS } from './run-flags.ts';

import { INVOKE_FLAGS, LIST_FLAGS, PUBLISH_FLAGS, STOP_FLAGS } from './runs/flags.ts';

const COMMAND = 'completion';
const SHELLS = ['bash', 'zsh', 'fish'] as const;
const HELP_TEXT = `insidecar completion bash|zsh|fish – print the completion of a shell

Usage
  bash  source <(insidecar completion bash)             in ~/.bashrc
  zsh   source <(insidecar completion zsh)              in ~/.zshrc, after compinit
  fish  insidecar completion fish > ~/.config/fish/completions/insidecar.fish

It completes commands, actions, flags, and files where a flag takes one.
`;

/** What may follow some words: `''` the command alone, `jobs` a command, `jobs list` an action. */
type Words = ReadonlyMap<string, readonly string[]>;

/** `insidecar completion`: returns the exit code. */
export function printCompletion(args: readonly string[], context: CommandContext): number {
  const { flags, rest } = readArguments(args, [HELP], COMMAND);
  const [shell, ...others] = rest;
  if (flags.isOn('help') === true) context.stdout.write(HELP_TEXT);
  else if (others.length > 0 || !SHELLS.some((one) => one === shell))
    throw misuse(
      `the shell is ${rest.length === 0 ? 'missing' : rest.join(' ')}: expected ${SHELLS.join(', ')}`,
      COMMAND,
    );
  else context.stdout.write(scriptOf(shell as (typeof SHELLS)[number]));
  return 0;
}

/** Of the tables from which the command line is read, so that nothing is left out. */
function words(): Words {
  const map = new Map<string, readonly string[]>();
  const runFlags = RUN_GROUPS.flatMap(({ flags }) => flags);
  const others = { list: LIST_FLAGS, stop: STOP_FLAGS, publish: PUBLISH_FLAGS, invoke: INVOKE_FLAGS };
  const plain = { run: runFlags, ...others, validate: VALIDATE_FLAGS, 'migrate-state': MIGRATE_STATE_FLAGS };
  for (const [name, flags] of Object.entries({ ...plain, 'postgresql-ddl': POSTGRESQL_DDL_FLAGS }))
    map.set(name, namesOf(flags));
  for (const [name, { actions }] of Object.entries(GROUPS)) {
    const [first] = actions;
    map.set(name, [...actions.map((action) => action.name), ...namesOf([...TARGET_FLAGS, ...(first?.flags ?? [])])]);
    for (const { name: action, flags = [] } of actions)
      map.set(`${name} ${action}`, namesOf([...TARGET_FLAGS, ...flags]));
  }
  map.set(COMMAND, [...SHELLS, '--help']);
  const commands = [...map.keys()].filter((key) => !key.includes(' '));
  map.set('help', commands);
  map.set('', [...commands, 'help', '--version', '--help']);
  return map;
}

function namesOf(flags: readonly Flag[]): readonly string[] {
  return flags
    .filter(({ ignored, refused }) => ignored === undefined && refused === undefined)
    .map(({ name }) => `--${name}`);
}

function scriptOf(shell: (typeof SHELLS)[number]): string {
  if (shell === 'fish') return fish(words());
  // zsh runs the completion of bash.
  const script = bash(words());
  return shell === 'bash' ? script : `autoload -Uz bashcompinit && bashcompinit\n${script}`;
}

/** What is no word of ours is completed as a file: values of flags, paths, the command that runs the application. */
function bash(all: Words): string {
  const cases = [...all].map(
    ([after, next]) => `    ${JSON.stringify(after)}) next=${JSON.stringify(next.join(' '))} ;;`,
  );
  return `_insidecar() {
  local current="\${COMP_WORDS[COMP_CWORD]}" after="" word next="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ $word == -- ]]; then COMPREPLY=(); return; fi
    case "$after\${after:+ }$word" in
      ${[...all.keys()]
        .filter((key) => key !== '')
        .map((key) => JSON.stringify(key))
        .join('|')}) after="$after\${after:+ }$word" ;;
      *) if [[ -z $after && $word != -* ]]; then COMPREPLY=(); return; fi ;;
    esac
  done
  case "$after" in
${cases.join('\n')}
  esac
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$next" -- "$current")
}
complete -o bashdefault -o default -F _insidecar insidecar
`;
}

function fish(all: Words): string {
  const lines = [...all].flatMap(([after, next]) => next.map((word) => fishLine(after, word)));
  return `${lines.join('\n')}\n`;
}

function fishLine(after: string, word: string): string {
  const [command = '', action] = after.split(' ');
  const seen = `__fish_seen_subcommand_from ${command}`;
  const when =
    after === ''
      ? '__fish_use_subcommand'
      : action === undefined
        ? seen
        : `${seen}; and __fish_seen_subcommand_from ${action}`;
  const completes = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
  return `complete -c insidecar -n '${when}' ${completes}`;
}
