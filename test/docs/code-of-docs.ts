import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Put before code that is written for vitest, to run it alone. */
export const RUNNER = `import assert from 'node:assert/strict';
import { test } from 'node:test';
const expect = (actual: any) => ({
  toBe: (expected: unknown) => assert.equal(actual, expected),
  toEqual: (expected: unknown) => assert.deepEqual(actual, expected),
  toMatchObject: (expected: object[]) =>
    expected.forEach((one, index) => assert.deepEqual({ ...actual[index], ...one }, actual[index])),
});
`;

/** The guides of workflows: their examples are one program. */
export const WORKFLOW_GUIDES = ['docs/workflows.md', 'docs/workflow-instances.md', 'docs/workflows-of-dapr.md'];

/** The TypeScript in a document of this repository. */
export function codeOf(document: string, afterHeading = ''): string[] {
  const text = readFileSync(root + document, 'utf8');
  const [section = ''] = text.slice(text.indexOf(afterHeading) + afterHeading.length).split(/\n## /);
  const searched = afterHeading === '' ? text : section;
  return [...searched.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
}

/**
 * Starts code as a program that finds the built package by its name; answers with its output so far, which ends with
 * `exit code …` when it has ended.
 */
export function start(name: string, code: string, environment: NodeJS.ProcessEnv = {}): () => string {
  mkdirSync(`${root}temp`, { recursive: true });
  const file = `${root}temp/${name}.ts`;
  writeFileSync(file, code);
  return startIn(root, ['--import', 'tsx', file], environment);
}

/** Starts a program of Node in a directory; answers as {@link start} does. */
export function startIn(cwd: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): () => string {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '', ...environment },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  child.on('close', (exitCode) => {
    output += `\nexit code ${exitCode}`;
  });
  return () => output;
}
