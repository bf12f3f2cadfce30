import { SidecarError } from '../errors.ts';

/** A finding about a file, with its location. @public */
export interface ResourceFinding {
  /** The file, under the given path. */
  readonly file: string;
  /** The document in the file, from 1; 0 for the whole file. */
  readonly document: number;
  /** From 1; 0 for the whole file. */
  readonly line: number;
  /** From 1; 0 for the whole file. */
  readonly column: number;
  /** Tells the wrong or unused part, the expected one, and a suggestion if there is one. Contains no secret. */
  readonly message: string;
}

/** The location of a finding. */
export type SourceLocation = Omit<ResourceFinding, 'message'>;

/** Max problems listed in one error: enough to start with. */
const MAX_LISTED = 50;

/** Collects all findings about files, so that they are reported together. */
export class Report {
  readonly problems: ResourceFinding[] = [];
  readonly notes: ResourceFinding[];

  constructor(notes: ResourceFinding[] = []) {
    this.notes = notes;
  }

  /** Adds a problem that must be fixed. */
  problem(location: SourceLocation, message: string): void {
    this.problems.push({ ...location, message });
  }

  /** Adds a note about something unused, or used in another way than Dapr does. */
  note(location: SourceLocation, message: string): void {
    this.notes.push({ ...location, message });
  }

  /**
   * Runs a part of the work with its own report; its problems become problems here, or notes if `mayFail`. Returns
   * whether there were none.
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

  /** Sorts all findings by file and position. */
  sort(): void {
    this.problems.sort(byLocation);
    this.notes.sort(byLocation);
  }

  /** @throws SidecarError `ERR_CONFIGURATION` with all problems, if there are any. */
  throwProblems(what: string): void {
    if (this.problems.length === 0) return;
    const lines = this.problems.slice(0, MAX_LISTED).map((problem) => `  ${formatFinding(problem)}`);
    const more = this.problems.length - lines.length;
    if (more > 0) lines.push(`  … and ${more} more`);
    const count = this.problems.length === 1 ? '1 problem' : `${this.problems.length} problems`;
    throw new SidecarError('ERR_CONFIGURATION', `${count} in ${what}:\n${lines.join('\n')}`);
  }
}

function byLocation(left: SourceLocation, right: SourceLocation): number {
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column;
}

/** The location of a whole file. */
export function wholeFile(file: string): SourceLocation {
  return { file, document: 0, line: 0, column: 0 };
}

/** Formats a finding on one line: `components.yaml:12:5 (document 2): …`. @public */
export function formatFinding({ file, document, line, column, message }: ResourceFinding): string {
  const location = line === 0 ? file : `${file}:${line}:${column}`;
  return document === 0 ? `${location}: ${message}` : `${location} (document ${document}): ${message}`;
}
