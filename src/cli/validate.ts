import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isApiError } from '../errors.ts';
import { type CheckOptions, checkResources, formatFinding, loadMultiApp } from '../resources/index.ts';
import { type FlagValues, readArguments } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { EXIT, misuse } from './failure.ts';
import { validateHelp } from './help.ts';
import { VALIDATE_FLAGS } from './run-flags.ts';
import { given, substitutes, wireOf } from './settings.ts';

/** The findings for one path. */
interface Findings {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly summary: string;
}

/** `insidecar validate`: returns the exit code. */
export async function validate(args: readonly string[], context: CommandContext): Promise<number> {
  const { flags, rest } = readArguments(args, VALIDATE_FLAGS, 'validate');
  if (flags.isOn('help') === true) {
    context.stdout.write(validateHelp());
    return 0;
  }
  if (rest.length === 0) throw misuse('expected a directory of resource files, or a multi-app file', 'validate');
  const missing = rest.find((path) => !existsSync(path));
  if (missing !== undefined) throw misuse(`there is no ${JSON.stringify(missing)}`, 'validate');
  const options = checkOptions(flags, context);
  let isFine = true;
  for (const path of rest) {
    const { problems, warnings, summary } = await check(path, options);
    for (const problem of problems) context.stderr.write(`${problem}\n`);
    for (const warning of warnings) context.stderr.write(`${warning} (not an error)\n`);
    if (problems.length === 0) context.stdout.write(`${path}: ${summary}\n`);
    else isFine = false;
  }
  return isFine ? 0 : EXIT.failed;
}

/** Equals the options of a run with these flags. */
function checkOptions(flags: FlagValues, { environment }: CommandContext): CheckOptions {
  return {
    environment,
    substitute: substitutes(flags),
    wire: wireOf(flags),
    configPaths: flags.texts('config'),
    ...given('appId', flags.text('app-id')),
  };
}

/** Checks a file, or a directory with resource files, multi-app files or both. */
async function check(path: string, options: CheckOptions): Promise<Findings> {
  const files = statSync(path).isDirectory() ? yamlFilesIn(path) : [path];
  const runFiles = files.filter(isRunFile);
  if (runFiles.length === 0) return checkFiles([path], options);
  const all: Findings[] = [];
  for (const file of runFiles) all.push(await checkRunFile(file, options));
  const others = files.filter((file) => !runFiles.includes(file));
  if (others.length > 0) all.push(await checkFiles(others, options));
  return {
    problems: all.flatMap(({ problems }) => problems),
    warnings: all.flatMap(({ warnings }) => warnings),
    summary: all.map(({ summary }) => summary).join('; '),
  };
}

function yamlFilesIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => /\.ya?ml$/.test(name));
  return names.sort().map((name) => join(directory, name));
}

/** A multi-app file has `apps` instead of a kind. Other files may have `apps` too, but no directories in them. */
function isRunFile(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const text = readFileSync(path, 'utf8');
  const isLikely = basename(path).startsWith('dapr.') || /^version:|\bappDirPath\b/im.test(text);
  return isLikely && /^apps:/im.test(text) && !/^kind:/im.test(text);
}

async function checkFiles(paths: readonly string[], options: CheckOptions): Promise<Findings> {
  const { problems, notes, resources } = await checkResources(paths, { ...options, appliesTelemetry: true });
  const counts = new Map<string, number>();
  for (const { kind } of resources) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const summary = [...counts].map(([kind, count]) => `${count} ${kind}${count === 1 ? '' : 's'}`).join(', ');
  return {
    problems: problems.map(formatFinding),
    warnings: notes.map(formatFinding),
    summary: summary === '' ? 'no resources' : summary,
  };
}

/** Checks the file and the resources of all its applications. */
async function checkRunFile(path: string, { configPaths = [], ...shared }: CheckOptions): Promise<Findings> {
  try {
    const { apps, notes } = await loadMultiApp(path, given('wire', shared.wire));
    const problems = new Set<string>();
    const warnings = new Set(notes.map(formatFinding));
    for (const { appId, appDirPath, resourcesPaths, configFilePath } of apps) {
      const own = configFilePath === undefined ? [] : [configFilePath];
      const options = {
        ...shared,
        appliesTelemetry: true,
        appId,
        configPaths: [...own, ...configPaths],
        workingDirectory: appDirPath,
      };
      const checked = await checkResources(resourcesPaths, options);
      for (const problem of checked.problems) problems.add(formatFinding(problem));
      for (const note of checked.notes) warnings.add(formatFinding(note));
    }
    const summary = `${apps.length} app${apps.length === 1 ? '' : 's'}: ${apps.map(({ appId }) => appId).join(', ')}`;
    return { problems: [...problems], warnings: [...warnings], summary };
  } catch (error) {
    if (!isApiError(error)) throw error;
    return { problems: [error.message], warnings: [], summary: '' };
  }
}
