// The declarations, from TypeScript 5.9 and 7, in every module system; what TypeScript makes of the program is run.
// And with the types of the newest Node, in which some names are no longer there.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, directory, NODES, npmInstall, packed, repository, run } from './harness.mjs';

const COMMON = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
/** Module, resolution (none: its default), and the file whose name says what it becomes. */
const MODES = [
  ['commonjs', '', 'consumer.ts'],
  ['node16', 'node16', 'consumer.cts'],
  ['node16', 'node16', 'consumer.mts'],
  ['nodenext', 'nodenext', 'consumer.cts'],
  ['nodenext', 'nodenext', 'consumer.mts'],
  ['esnext', 'bundler', 'consumer.mts'],
];
/** TypeScript 7 has no `node10` any more: its default for CommonJS is `bundler`. */
const MODES_OF_5 = [['commonjs', 'node10', 'consumer.ts']];

export function types() {
  const cwd = directory('consumer', ['consumer.mts']);
  for (const file of ['consumer.ts', 'consumer.cts']) copyFileSync(join(cwd, 'consumer.mts'), join(cwd, file));
  npmInstall(cwd, packed(), '@types/node@20', 'typescript@5.9', '@opentelemetry/api@1.9');
  const compilers = [
    ['5.9', join(cwd, 'node_modules/typescript/bin/tsc'), [...MODES, ...MODES_OF_5]],
    ['7', join(repository, 'node_modules/typescript/bin/tsc'), MODES],
  ];
  for (const [version, tsc, modes] of compilers) {
    for (const [module, resolution, file] of modes) {
      const flags = ['--module', module, ...(resolution === '' ? [] : ['--moduleResolution', resolution])];
      const outDir = `out-${version}-${flags.join('')}`;
      const compiled = run(cwd, process.execPath, tsc, ...COMMON, ...flags, '--outDir', outDir, file);
      const what = `TypeScript ${version}, module ${module}, moduleResolution ${resolution || 'default'}, ${file}`;
      check(`${what}: compiles`, compiled);
      if (!compiled.ok) continue;
      const program = run(cwd, process.execPath, join(outDir, file.replace(/ts$/, 'js')));
      check(`${what}: runs`, { ...program, said: '' });
    }
  }
  npmInstall(cwd, `@types/node@${NODES.at(-1)}`);
  for (const [version, tsc] of compilers) {
    const compiled = run(cwd, process.execPath, tsc, ...COMMON, '--module', 'nodenext', '--noEmit', 'consumer.mts');
    check(`TypeScript ${version}, types of Node ${NODES.at(-1)}: compiles`, compiled);
  }
}
