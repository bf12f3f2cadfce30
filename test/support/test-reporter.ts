import type { Reporter, TestModule } from 'vitest/node';

/** How a test file says what it needs and this machine does not have. */
export const SKIPPED = 'skipped: ';

/** From this on, a file belongs among the long ones, or has something to be made quicker. */
const LONG_MS = 30_000;

/** Says at the end what was skipped for want of a server, and which quick files were long. */
export class TestReporter implements Reporter {
  readonly #skipped = new Set<string>();

  /** For `onConsoleLog`: keeps what is said of missing servers, which many files say, some several times at once. */
  readonly onConsoleLog = (log: string): boolean => {
    if (!log.startsWith(SKIPPED)) return true;
    for (const line of log.trim().split('\n')) this.#skipped.add(line);
    return false;
  };

  onTestRunEnd(modules: readonly TestModule[]): void {
    const long = modules
      .filter(({ project }) => project.name === 'quick')
      .map((module) => ({ path: module.relativeModuleId, ms: module.diagnostic().duration }))
      .filter(({ ms }) => ms > LONG_MS)
      .map(({ path, ms }) => `long: ${path} took ${Math.round(ms / 1_000)} s (test/README.md, "Quick and long")`);
    for (const line of [...this.#skipped, ...long]) console.log(line);
  }
}
