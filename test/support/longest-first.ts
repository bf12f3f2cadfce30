import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Take minutes though they are short files, by the size of which vitest guesses how long one takes. */
const LONGEST = ['test/crash/torture/torture.test.ts', 'test/fuzz/fuzz.test.ts'];

/** Begins with the files that take longest: at the end, all else would wait for them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLongest = ({ moduleId }: TestSpecification): boolean => LONGEST.some((path) => moduleId.endsWith(path));
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}
