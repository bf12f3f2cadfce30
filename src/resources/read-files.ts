import { expandVariables } from './expand-variables.ts';
import { mayHoldResource, namesOurGroup } from './manifest.ts';
import { Report, type ResourceFinding, type SourceLocation } from './report.ts';
import { type Resource, readResource } from './resource.ts';
import { NOT_YAML, parseYaml, readTextFile } from './yaml-file.ts';

export interface ReadFilesOptions {
  /** Whether keys and kinds are understood in any case. */
  readonly inAnyCase: boolean;
  /** If given, variables in the files are replaced. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** The resources in files. One after the other: only one file is in memory at a time. */
export async function readFiles(
  files: readonly string[],
  report: Report,
  options: ReadFilesOptions,
): Promise<readonly Resource[]> {
  const resources: Resource[] = [];
  for (const file of files) {
    const text = await readTextFile(file, report);
    if (text !== undefined) resources.push(...readText(file, text, report, options));
  }
  return resources;
}

function readText(
  file: string,
  text: string,
  report: Report,
  { inAnyCase, environment }: ReadFilesOptions,
): readonly Resource[] {
  const [ofYaml, ofResources] = [new Report(report.notes), new Report(report.notes)];
  const documents = parseYaml(file, text, ofYaml);
  const resources = documents.flatMap((document) => {
    const expanded =
      environment === undefined ? document : document.mapped((value) => expandVariables(value, environment));
    return readResource(expanded, ofResources, inAnyCase) ?? [];
  });
  const found = [...ofYaml.problems, ...ofResources.problems];
  const template = found.length === 0 ? undefined : templateIn(file, text);
  const isTooMuch = found.some(({ document }) => document === 0);
  if (template !== undefined && !isTooMuch) tellTemplate(template, text, report);
  else if (ofYaml.problems.length > 0 && !isTooMuch && isOther(text, ofYaml)) noteOther(ofYaml.problems, report);
  else report.problems.push(...found);
  return resources;
}

/** Where a text has its first expression of a template, as Helm's. */
function templateIn(file: string, text: string): SourceLocation | undefined {
  const at = text.search(/\{\{[^\n]*\}\}/);
  if (at < 0) return undefined;
  const before = text.slice(0, at).split('\n');
  return { file, document: 0, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** One line for all that is wrong with it. A resource in it would be missing in silence, anything else is not ours. */
function tellTemplate(at: SourceLocation, text: string, report: Report): void {
  if (namesOurGroup(text))
    report.problem(at, 'it is a template ({{ … }}): render it first, such as by "helm template"');
  else report.note(at, 'it is a template ({{ … }}), no resource: it is not used');
}

/** Whether a file whose text is no YAML has nothing of a resource. */
function isOther(text: string, { problems }: Report): boolean {
  return !mayHoldResource(text) && problems.every(({ message }) => message.startsWith(NOT_YAML));
}

/** One line for a file that cannot be read and has nothing of a resource. */
function noteOther([first]: readonly ResourceFinding[], report: Report): void {
  if (first !== undefined) report.note(first, `it is no resource: it is not used (${first.message})`);
}
