import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { freePort } from '../support/http.ts';
import { MAIN, temporaryDirectory } from './cli.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/multi-app/', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../../docs/cli.md', import.meta.url));
const COMMAND = '$ npx insidecar run -f examples/multi-app --stop-when any';
const PORTS = ['6001', '6002', '3601', '3602'];

/** Runs the example on ports that are free, and tells what a person would see, with the ports of the example. */
async function transcript(): Promise<string> {
  const directory = await temporaryDirectory();
  await cp(EXAMPLE, directory, { recursive: true });
  const ports = new Map<string, string>();
  while (ports.size < PORTS.length) ports.set(String(await freePort()), PORTS[ports.size] ?? '');
  const free = new Map([...ports].map(([port, shown]) => [shown, port]));
  const file = await readFile(join(EXAMPLE, 'dapr.yaml'), 'utf8');
  // Digits of one port may be the end of another one.
  const moved = file.replaceAll(/\b\d{4}\b/g, (port) => free.get(port) ?? port);
  await writeFile(join(directory, 'dapr.yaml'), moved);
  const args = [MAIN, 'run', '-f', directory, '--stop-when', 'any', '--log-json=false'];
  // Both outputs on one pipe, so that they are in the order in which they were written.
  const child = spawn('/bin/sh', ['-c', 'exec "$0" "$@" 2>&1', process.execPath, ...args], {
    env: { ...process.env, NODE_ENV: '', NODE_V8_COVERAGE: '', NODE_OPTIONS: '', FORCE_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  await once(child, 'close');
  let processes = 0;
  return output
    .replaceAll(/\b\d{2}:\d{2}:\d{2}\b/g, '10:00:00')
    .replaceAll(/pid=\d+/g, () => `pid=${4710 + ++processes}`)
    .replaceAll(/(?<=127\.0\.0\.1:|on port )\d+/g, (port) => ports.get(port) ?? port);
}

/** The lines of each speaker: in which order two of them speak is up to the machine. */
function bySpeaker(text: string): Readonly<Record<string, readonly string[]>> {
  const lines = text
    .trim()
    .replace(/insidecar \d+\.\d+\.\d+/, 'insidecar 0.0.0')
    .split('\n');
  const speakers = new Map<string, string[]>();
  for (const line of lines) {
    const speaker = /^\S+ +[|:]/.exec(line)?.[0] ?? '';
    speakers.set(speaker, [...(speakers.get(speaker) ?? []), line]);
  }
  return Object.fromEntries(speakers);
}

test('the transcript in docs/cli.md is what the example prints; UPDATE_DOCS=1 writes it anew', async () => {
  const printed = await transcript();
  const block = /(?<=```console\n\$ npx insidecar run -f .*\n)[^`]*(?=```)/;
  const document = await readFile(DOCUMENT, 'utf8');
  expect(document).toContain(COMMAND);
  if (process.env['UPDATE_DOCS'] === '1') await writeFile(DOCUMENT, document.replace(block, printed));
  const shown = block.exec(await readFile(DOCUMENT, 'utf8'))?.[0] ?? '';
  expect(bySpeaker(shown)).toEqual(bySpeaker(printed));
});
