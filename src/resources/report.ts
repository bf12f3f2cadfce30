import { SidecarError } from '../errors.ts';

/** Something to tell about a file, with the place that it is about. @public */
export interface ResourceFinding {
  /** The file, as it was found under the path that was given. */
  readonly file: string;
  /** The document of the file, counted from 1; 0 when it concerns the file as a whole. */
  readonly document: number;
  /** Counted from 1; 0 when it concerns the file as a whole. */
  readonly line: number;
  /** Counted from 1; 0 when it concerns the file as a whole. */
  readonly column: number;
  /** What is wrong or not used, what was expected, and a near miss where there is one. Holds no secret. */
  readonly message: string;
}

/** Where a finding is. */
export type Place = Omit<ResourceFinding, 'message'>;

/** How many problems one error lists: whoever has more mends these first. */
const MAX_LISTED = 50;

/** Everything that is found while files are read: all of it is told together. */
export class Report {
  readonly problems: ResourceFinding[] = [];
  readonly notes: ResourceFinding[];

  constructor(notes: ResourceFinding[] = []) {
    this.notes = notes;
  }

  /** Something that has to be mended. */
  problem(place: Place, message: string): void {
    this.problems.push({ ...place, message });
  }

  /** Something that is not used, or not used as Dapr does. */
  note(place: Place, message: string): void {
    this.notes.push({ ...place, message });
  }

  /**
   * Lets something report to a place of its own; then its problems become problems here, or notes when it is one that
   * may fail. Answers whether there were none.
   */
  async part(mayFail: boolean, work: (part: Report) => Promise<void> | void): Promise<boolean> {
    const part = new Report(this.notes);
    await work(part);
    for (const problem of part.problems) {
      if (mayFail)
        this.notes.push({ ...problem, message: `left out, because ignoreErrors is set: ${problem.message}` });
      else this.problems.push(problem);
    }
    return part.problems.length === 0;
  }

  /** Puts everything into the order in which a reader of the files meets it. */
  sort(): void {
    this.problems.sort(byPlace);
    this.notes.sort(byPlace);
  }

  /** @throws SidecarError `ERR_CONFIGURATION` with every problem, when there is one. */
  throwProblems(what: string): void {
    if (this.problems.length === 0) return;
    const lines = this.problems.slice(0, MAX_LISTED).map((problem) => `  ${formatFinding(problem)}`);
    const more = this.problems.length - lines.length;
    if (more > 0) lines.push(`  … and ${more} more`);
    const count = this.problems.length === 1 ? '1 problem' : `${this.problems.length} problems`;
    throw new SidecarError('ERR_CONFIGURATION', `${count} in ${what}:\n${lines.join('\n')}`);
  }
}

function byPlace(left: Place, right: Place): number {
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column;
}

/** A place that is a whole file. */
export function wholeFile(file: string): Place {
  return { file, document: 0, line: 0, column: 0 };
}

/** A finding on one line: `components.yaml:12:5 (document 2): …`. @public */
export function formatFinding({ file, document, line, column, message }: ResourceFinding): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return document === 0 ? `${place}: ${message}` : `${place} (document ${document}): ${message}`;
}
