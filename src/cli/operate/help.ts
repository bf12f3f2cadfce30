import type { Flag } from '../arguments.ts';
import { lineOf } from '../help.ts';
import type { ActionGroup } from './action.ts';
import { TARGET_FLAGS } from './flags.ts';

const USAGE_WIDTH = 34;

/** The help of a command with actions: the same for all of them, on one screen. */
export function groupHelp({ name, about, actions, notes }: ActionGroup): string {
  const usages = actions.map(({ name: action, usage = '', help }) => {
    const shown = `  ${action} ${usage}`.trimEnd();
    return `${shown.padEnd(USAGE_WIDTH)} ${help}`;
  });
  const flags = new Map<string, Flag>(
    actions.flatMap((action) => (action.flags ?? []).map((flag) => [flag.name, flag])),
  );
  return [
    `insidecar ${name} [action] [options] – ${about}`,
    '',
    'Actions',
    ...usages,
    ...(notes.length === 0 ? [] : ['', ...notes]),
    '',
    'Options',
    ...[...flags.values()].map(lineOf),
    '',
    'Which application',
    ...TARGET_FLAGS.map(lineOf),
    '',
    'An application that runs is asked through its inspector: start it with',
    'insidecar run --inspect. The only such run of this user is found by itself.',
    '',
  ].join('\n');
}
