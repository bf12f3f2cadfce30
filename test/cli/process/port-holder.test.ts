import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { portHolder } from '../../../src/cli/process/port-holder.ts';

// The title of a process is the name of its first thread, as Node 24 sets it to MainThread.
const PROGRAM = `
  process.title = 'MainThread';
  const server = require('node:http').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

test.runIf(process.platform === 'linux')(
  'the holder of a port is named by its program, not by its thread',
  async () => {
    const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [port] = await once(child.stdout, 'data');
      expect(portHolder(Number(port))).toBe(`process ${child.pid} (node)`);
    } finally {
      child.kill();
    }
  },
);
