import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { TestReporter } from './test/support/test-reporter.ts';

/** Long by nature: `npm test` leaves them out, `npm run test:all` does not. test/README.md says what belongs here. */
const LONG = ['test/{browser,crash,examples,fuzz}/**/*.test.ts', 'test/**/*.long.test.ts'];
/** What it measures is wrong with anything beside it. */
const ALONE = ['test/browser/load.test.ts'];

const reporter = new TestReporter();

export default defineConfig({
  test: {
    reporters: ['default', reporter],
    onConsoleLog: reporter.onConsoleLog,
    // Of what hangs: nothing is expected to be quick by these.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One second, the default, passes on a machine that is busy with others.
    expect: { poll: { timeout: 15_000 } },
    // A check of a whole day's work must not fail because the machine stood still for a moment; vitest tells of it.
    retry: process.env['CI'] === undefined ? 0 : 1,
    // Tests of sockets, files and processes wait most of the time: with three workers, two processors are idle for half of it.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // Files one after the other in the same process: to load all of `src` takes a second, 400 times.
    isolate: false,
    coverage: {
      include: ['src/**/*.ts'],
      // Runs in a browser, where nothing counts.
      exclude: ['src/inspector/page/**'],
      reporter: ['text-summary'],
      thresholds: { statements: 90, branches: 85, functions: 90, lines: 90 },
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: LONG,
        },
      },
      // In one group with the quick ones, which fill the processors while the last of these wait.
      { extends: true, test: { name: 'long', include: LONG, exclude: ALONE } },
      { extends: true, test: { name: 'alone', include: ALONE, sequence: { groupOrder: 1 } } },
    ],
  },
});
