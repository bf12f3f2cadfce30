import { harmless } from '../../util/harmless-text.ts';
import { suggest } from '../../util/suggest.ts';
import { readArguments } from '../arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { misuse } from '../failure.ts';
import { type Action, type ActionGroup, Call } from './action.ts';
import { ACTORS } from './actors.ts';
import { DEAD_LETTERS } from './dead-letters.ts';
import { TARGET_FLAGS } from './flags.ts';
import { groupHelp } from './help.ts';
import { JOBS } from './jobs.ts';
import { QUEUES } from './queues.ts';
import { openTarget, targetOf } from './target.ts';
import { WORKFLOWS } from './workflows.ts';

type CommandGroup = 'queues' | 'dead-letters' | 'jobs' | 'workflows' | 'actors';
export const GROUPS: Readonly<Record<CommandGroup, ActionGroup>> = {
  queues: QUEUES,
  'dead-letters': DEAD_LETTERS,
  jobs: JOBS,
  workflows: WORKFLOWS,
  actors: ACTORS,
};

/** `insidecar queues`, `dead-letters`, `jobs`, `workflows`, `actors`: returns the exit code. */
export async function operate(name: CommandGroup, args: readonly string[], context: CommandContext): Promise<number> {
  const group = GROUPS[name];
  const [first = '', ...others] = args;
  const isNamed = first !== '' && !first.startsWith('-');
  const action = isNamed ? actionOf(group, first) : group.actions[0];
  if (action === undefined) throw unknownAction(group, first);
  const flagsOf = [...TARGET_FLAGS, ...(action.flags ?? [])];
  const commandLine = readArguments(isNamed ? others : args, flagsOf, name, { isMixed: true });
  const { flags, rest } = commandLine;
  if (flags.isOn('help') === true || first === 'help') {
    context.stdout.write(groupHelp(group));
    return 0;
  }
  checkCount(group, action, rest);
  const target = targetOf(flags, name, context);
  await using opened = await openTarget(target, context);
  const { api, app, identity, isStopped } = opened;
  // Before it acts: what runs was perhaps found by itself. On standard error, so that standard output is the result alone.
  context.stderr.write(`${harmless(identity)}\n`);
  await action.run(new Call({ api, app, flags, args: rest, isStopped }, { context, about: name }));
  return 0;
}

function actionOf({ actions }: ActionGroup, name: string): Action | undefined {
  return name === 'help' ? actions[0] : actions.find((action) => action.name === name);
}

function unknownAction({ name, actions }: ActionGroup, given: string): Error {
  const names = actions.map((action) => action.name);
  const meant = suggest(given, names);
  const hint = meant === undefined ? '' : ` Did you mean insidecar ${name} ${meant}?`;
  return misuse(`unknown action ${given}: expected ${names.join(', ')}.${hint}`, name);
}

function checkCount({ name, actions }: ActionGroup, action: Action, given: readonly string[]): void {
  const [least, most] = action.takes;
  if (given.length >= least && given.length <= most) return;
  const isLate = actions.some((one) => one.name === given[0]);
  if (isLate) throw misuse(`the action comes first: insidecar ${name} ${given[0]}`, name);
  const usage = `insidecar ${name} ${action.name}${action.usage === undefined ? '' : ` ${action.usage}`}`;
  const actual = given.length === 0 ? 'nothing' : given.map((one) => JSON.stringify(one)).join(' ');
  throw misuse(`expected ${usage}: actual is ${actual}`, name);
}
