// The examples of docs/test-runners.md in the runners that they are for, and the suites of the package in Jest's realm.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { availableNodes, check, directory, npmInstall, packed, repository, run, runOn, SQLITE } from './harness.mjs';

const NEWEST = '26';
/** By heading of the guide. */
const RUNNERS = [
  { heading: 'vitest', packages: ['vitest@4'], command: ['npx', 'vitest', 'run'], passed: /Tests +1 passed/ },
  { heading: 'Jest', packages: ['jest@30'], command: ['npx', 'jest'], passed: /Tests: +1 passed/ },
  {
    heading: 'Jest with TypeScript',
    packages: ['jest@30', 'ts-jest@29', 'typescript@5.9', '@types/jest@30', '@types/node@20'],
    command: ['npx', 'jest'],
    passed: /Tests: +1 passed/,
  },
  {
    heading: 'Jest with ES modules',
    packages: ['jest@30'],
    command: ['node', '--experimental-vm-modules', 'node_modules/jest/bin/jest.js'],
    passed: /Tests: +1 passed/,
  },
  { heading: 'node:test', packages: [], command: ['node', '--test'], passed: /^[#ℹ] pass 1$/m },
];

/** The files of a section: blocks that begin with a comment of their name. */
function filesOf(heading) {
  const guide = readFileSync(join(repository, 'docs/test-runners.md'), 'utf8');
  const [section = ''] = guide.split(`\n## ${heading}\n`).slice(1).join('').split('\n## ');
  const blocks = [...section.matchAll(/```[jt]s\n\/\/ (\S+)\n(.*?)```/gs)];
  return Object.fromEntries(blocks.map(([, name, code]) => [name, code]));
}

function checkRunner(what, cwd, { command, passed }) {
  for (const version of availableNodes(['20', NEWEST])) {
    const result = runOn(version, cwd, ...command);
    check(`${what} on node@${version}`, { ...result, said: '', ok: result.ok && passed.test(result.output) });
  }
}

export function runners() {
  for (const runner of RUNNERS) {
    const { heading, packages } = runner;
    const cwd = directory(heading.replaceAll(/\W+/g, '-').toLowerCase(), [], filesOf(heading));
    npmInstall(cwd, packed(), ...packages);
    checkRunner(`docs/test-runners.md, ${heading}`, cwd, runner);
    if (heading !== 'Jest') continue;
    // The embedded store on Node 20.
    npmInstall(cwd, SQLITE);
    const realm = directory('jest-realm', ['jest-realm.test.js']);
    run(realm, 'ln', '-s', join(cwd, 'node_modules'), 'node_modules');
    checkRunner("the suites in Jest's realm", realm, {
      command: runner.command,
      passed: /Tests: +\d+ passed, \d+ total/,
    });
    npmInstall(cwd, 'jest-environment-jsdom@30');
    const jsdom = directory('jest-jsdom', ['jest-jsdom.test.js']);
    run(jsdom, 'ln', '-s', join(cwd, 'node_modules'), 'node_modules');
    checkRunner('Jest with jsdom', jsdom, {
      command: [...runner.command, '--env', 'jsdom'],
      passed: /Tests: +\d+ passed, \d+ total/,
    });
  }
}
