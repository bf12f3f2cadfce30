import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    // A check of a whole day's work must not fail because the machine stood still for a moment; vitest tells of it.
    retry: process.env['CI'] === undefined ? 0 : 1,
    // Tests of sockets, files and processes wait most of the time: with three workers, two processors are idle for half of it.
    maxWorkers: availableParallelism() + 2,
    coverage: {
      include: ['src/**/*.ts'],
      // Runs in a browser, where nothing counts.
      exclude: ['src/inspector/page/**'],
      reporter: ['text-summary'],
      thresholds: { statements: 90, branches: 85, functions: 90, lines: 90 },
    },
  },
});
