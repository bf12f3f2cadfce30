import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('./branch-child.mjs', import.meta.url));

/** What a process said, and how it ended. */
function run(way: string): Promise<{ readonly code: unknown; readonly said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, way], { timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, said: stdout + stderr }),
    );
  });
}

test('a failed task of a branch that no code waits for ends its workflow, and not the process', async () => {
  const { code, said } = await run('task');
  expect(said).toContain('FAILED\n');
  expect(said).toContain('"instanceId":"order-7"');
  expect(code).toBe(0);
});

test('another error of such a branch ends the process, and the log names the workflow', async () => {
  const { code, said } = await run('own');
  expect(code).toBe(1);
  expect(said).toContain('TypeError: an error of its own');
  expect(said).toContain('"instances":[{"instanceId":"order-7","workflowName":"flow"}]');
});
