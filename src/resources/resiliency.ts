import { messageOf } from '../errors.ts';
import type { ResiliencySpec } from '../resiliency/options.ts';
import { parseResiliency } from '../resiliency/parse.ts';
import type { Report } from './report.ts';
import type { Resource } from './resource.ts';

type Section = Readonly<Record<string, unknown>>;

/** Sections in which a name must not be defined by several documents. */
const SECTIONS = [
  ['policies', 'timeouts'],
  ['policies', 'retries'],
  ['policies', 'circuitBreakers'],
  ['targets', 'apps'],
  ['targets', 'components'],
] as const;

/** Merges all Resiliency resources; a name defined twice is a problem. `undefined` if there are none. */
export function readResiliency(resources: readonly Resource[], report: Report): ResiliencySpec | undefined {
  const found = resources.filter(({ kind }) => kind === 'Resiliency');
  if (found.length === 0) return undefined;
  const before = report.problems.length;
  const merged = { policies: new Map<string, Section>(), targets: new Map<string, Section>() };
  for (const [part, section] of SECTIONS) {
    const entries = new Map<string, unknown>();
    for (const { document, spec } of found) {
      // The cast is safe: the schema of the kind was checked.
      const named = (spec as { readonly [part: string]: Readonly<Record<string, Section | undefined>> | undefined })[
        part
      ]?.[section];
      for (const [name, content] of Object.entries(named ?? {})) {
        if (entries.has(name))
          report.problem(
            document.keyLocation(['spec', part, section], name),
            `spec.${part}.${section}.${name} is defined twice`,
          );
        entries.set(name, content);
      }
    }
    if (entries.size > 0) merged[part].set(section, Object.fromEntries(entries));
  }
  const spec = { policies: Object.fromEntries(merged.policies), targets: Object.fromEntries(merged.targets) };
  // A policy that is defined twice has been reported already.
  if (report.problems.length === before) tryOut(found, report);
  return spec;
}

/** Lets the consumer check references, durations and expressions; it names the document by its place in the list. */
function tryOut(found: readonly Resource[], report: Report): void {
  try {
    parseResiliency(
      found.map(({ spec }) => spec as ResiliencySpec),
      () => undefined,
    );
  } catch (error) {
    const [, index = '0', problem = `: ${messageOf(error)}`] =
      /^options\.resiliency\[(\d+)\]([\s\S]*)$/.exec(messageOf(error)) ?? [];
    const location = found[Number(index)]?.document.location(['spec']);
    if (location !== undefined) report.problem(location, `spec${problem}`);
  }
}
