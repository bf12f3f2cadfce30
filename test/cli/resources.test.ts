import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort, send } from '../support/http.ts';
import { program, runCli, runHere, STAYS, startCli, temporaryDirectory, untilSaid } from './cli.ts';

const PULSAR = `apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: messages
spec:
  type: pubsub.pulsar
  version: v1
  metadata:
    - name: redisHost
      value: localhost:6379
`;

async function resources(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

describe('insidecar validate', () => {
  test('says what it found', async () => {
    const directory = await resources({
      'pubsub.yaml': PULSAR.replace('pulsar', 'in-memory').replace(/ {2}metadata:.*/s, ''),
    });
    const { code, stdout, stderr } = await runHere(['validate', directory]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`${directory}: 1 Component\n`);
  });

  test('takes a directory with files of other systems, and keys in any case', async () => {
    const directory = await resources({
      'pubsub.yaml': PULSAR.replace('pulsar', 'in-memory')
        .replace(/ {2}metadata:.*/s, '')
        .replace('kind', 'Kind'),
      'compose.yaml': 'services: {redis: {image: redis}}\n',
      'values.yaml': 'apps: {one: {replicas: 1}}\n',
    });
    const { code, stdout, stderr } = await runHere(['validate', directory]);
    expect(code).toBe(0);
    expect(stdout).toBe(`${directory}: 1 Component\n`);
    expect(stderr.match(/not used \(not an error\)$/gm)).toHaveLength(2);
    expect((await runHere(['validate', '--wire', 'sidecar', directory])).stderr).toContain('did you mean "kind"?');
  });

  test("leaves out what there is not with --map '*=none'", async () => {
    const directory = await resources({
      'a.yaml': PULSAR,
      'b.yaml': PULSAR.replace('pubsub.pulsar', 'bindings.wasm').replace('messages', 'timer'),
    });
    expect((await runHere(['validate', '--map', '*=none', directory])).code).toBe(0);
  });

  test('tells every problem with file and line', async () => {
    const directory = await resources({ 'a.yaml': PULSAR, 'b.yml': 'kind: [' });
    const { code, stdout, stderr } = await runHere(['validate', directory]);
    expect(stderr).toMatch(new RegExp(`^${directory}/a\\.yaml:6:\\d+ .*pubsub\\.pulsar`, 'm'));
    expect(stderr).toMatch(new RegExp(`^${directory}/b\\.yml:1:\\d+.*YAML`, 'm'));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test('checks a multi-app file and the resources of its apps', async () => {
    const directory = await resources({
      'dapr.yaml': 'version: 1\ncommon: { resourcesPath: ./res }\napps:\n  - { appID: one, appDirPath: . }\n',
    });
    await mkdir(join(directory, 'res'));
    expect(await runHere(['validate', join(directory, 'dapr.yaml')])).toEqual({
      code: 0,
      stdout: `${join(directory, 'dapr.yaml')}: 1 app: one\n`,
      stderr: '',
    });
    await writeFile(join(directory, 'res', 'a.yaml'), PULSAR);
    const { code, stderr } = await runHere(['validate', join(directory, 'dapr.yaml')]);
    expect(stderr).toMatch(/res\/a\.yaml:6:\d+ .*pubsub\.pulsar/);
    expect(code).toBe(1);
  });

  test('a directory may have multi-app files beside resource files', async () => {
    const directory = await resources({
      'dapr.yaml': 'version: 1\napps:\n  - { appID: one, appDirPath: . }\n',
      'pubsub.yaml': PULSAR.replace('pulsar', 'in-memory').replace(/ {2}metadata:.*/s, ''),
    });
    expect(await runHere(['validate', directory])).toEqual({
      code: 0,
      stdout: `${directory}: 1 app: one; 1 Component\n`,
      stderr: '',
    });
    await writeFile(
      join(directory, 'dapr.yaml'),
      'version: 1\napps:\n  - { appID: one, appDirPath: ., comand: [a] }\n',
    );
    await writeFile(join(directory, 'pubsub.yaml'), PULSAR);
    const { code, stdout, stderr } = await runHere(['validate', directory]);
    expect(stderr).toMatch(/dapr\.yaml:3:\d+ .*unknown field apps\[0\]\.comand; did you mean "command"\?/);
    expect(stderr).toMatch(/pubsub\.yaml:6:\d+ .*pubsub\.pulsar/);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test.each([
    [[], 'expected a directory of resource files, or a multi-app file'],
    [['/no/such/directory'], 'there is no "/no/such/directory"'],
    [['--strict', '.'], 'unknown flag --strict.'],
  ])('%s is a wrong command line', async (args, message) => {
    const { code, stderr } = await runHere(['validate', ...args]);
    expect(stderr).toContain(`insidecar: ${message}`);
    expect(code).toBe(2);
  });

  test('with --map, types that there are not may be replaced', async () => {
    const directory = await resources({
      'a.yaml': PULSAR,
      'dapr.yaml': 'version: 1\napps:\n  - { appID: one, appDirPath: ., resourcesPath: ./a.yaml }\n',
    });
    for (const path of [join(directory, 'a.yaml'), join(directory, 'dapr.yaml')]) {
      expect((await runHere(['validate', path])).code).toBe(1);
      expect((await runHere(['validate', '--map', 'pubsub.pulsar=pubsub.in-memory', path])).code).toBe(0);
    }
  });

  test('with --config and --app-id, as the run reads them', async () => {
    const other = PULSAR.replace('pulsar', 'in-memory').replace(/ {2}metadata:.*/s, 'scopes: [two]\n');
    const configuration = (name: string): string =>
      `apiVersion: dapr.io/v1alpha1\nkind: Configuration\nmetadata: { name: ${name} }\nspec: {}\n`;
    const directory = await resources({ 'a.yaml': other, 'b.yaml': configuration('b'), 'c.yaml': configuration('c') });
    expect((await runHere(['validate', directory])).stderr).toMatch(/c\.yaml:3:\d+.*comes beside "b"/);
    const args = ['validate', '--app-id', 'one', '--config', join(directory, 'b.yaml'), directory];
    const { code, stdout } = await runHere(args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${directory}: 2 Configurations\n` });
  });
});

describe('insidecar run with resource files', () => {
  test('problems are listed with file and line, and nothing is started', async () => {
    const directory = await resources({ 'a.yaml': PULSAR });
    const args = ['run', '--app-id', 'a', '-d', directory, '--', ...program(`console.log('started')`)];
    const { code, stdout, stderr } = await runCli(args);
    expect(stderr).toMatch(/insidecar: 1 problem in .*\n.*a\.yaml:6:\d+.*pubsub\.pulsar/);
    expect(stderr).not.toContain('    at ');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test('--map runs components of a broker in memory', async () => {
    const directory = await resources({ 'a.yaml': PULSAR });
    const port = String(await freePort());
    const args = ['run', '--app-id', 'a', '-d', directory, '--http-port', port, '--log-json=false'];
    const cli = startCli([...args, '--map', 'pubsub.pulsar=pubsub.in-memory']);
    await untilSaid(cli.stderr, 'sidecar at');
    expect((await send(`http://127.0.0.1:${port}`, 'POST', '/v1.0/publish/messages/t', { body: 'x' })).status).toBe(
      204,
    );
    expect(cli.stderr()).toMatch(/component "messages" is pubsub\.in-memory in place of pubsub\.pulsar/);
  });

  test('--map says what it takes', async () => {
    const { code, stderr } = await runHere(['run', '--app-id', 'a', '--map', 'pubsub.pulsar']);
    expect(stderr).toContain('--map must be TYPE=TYPE, such as pubsub.redis=pubsub.in-memory');
    expect(code).toBe(2);
  });

  test('a Configuration denies what it denies', async () => {
    const directory = await resources({
      'config.yaml': `apiVersion: dapr.io/v1alpha1
kind: Configuration
metadata: { name: c }
spec:
  api:
    denied: [{ name: publish, version: v1.0, protocol: http }]
`,
    });
    const port = String(await freePort());
    const cli = startCli(['run', '--app-id', 'a', '--config', join(directory, 'config.yaml'), '--http-port', port]);
    await untilSaid(cli.stderr, 'sidecar at');
    const answer = await send(`http://127.0.0.1:${port}`, 'POST', '/v1.0/publish/pubsub/t', { body: 'x' });
    expect(answer.status).toBe(404);
  });
});

test('run -f tells what is wrong with the resources of every application, before it starts one', async () => {
  const directory = await resources({
    'dapr.yaml': `version: 1
apps:
  - { appID: one, appDirPath: ., resourcesPaths: [one], command: [node, -e, ""] }
  - { appID: two, appDirPath: ., resourcesPaths: [two], command: [node, -e, ""] }
`,
  });
  for (const app of ['one', 'two']) {
    await mkdir(join(directory, app));
    await writeFile(join(directory, app, `${app}.yaml`), PULSAR);
  }
  const { code, stderr } = await runHere(['run', '-f', directory]);
  expect(stderr).toMatch(/one\/one\.yaml:6:\d+ .*pubsub\.pulsar/);
  expect(stderr).toMatch(/two\/two\.yaml:6:\d+ .*pubsub\.pulsar/);
  expect(code).toBe(1);
});

test('run -f tells everything that is wrong with its applications', async () => {
  const directory = await resources({
    'dapr.yaml': `version: 1
apps:
  - { appID: one, appDirPath: ., appProtocol: h2c, daprHTTPPort: 3500, command: [""] }
  - { appID: two, appDirPath: ., daprHTTPPort: 3500, appPort: 3500 }
`,
  });
  const { code, stderr } = await runHere(['run', '-f', directory]);
  expect(stderr).toContain('daprHTTPPort of two must differ from daprHTTPPort of one: both are 3500');
  expect(stderr).toContain('appProtocol of one must be http or grpc: actual is "h2c"');
  expect(stderr).toContain('the command of one is empty');
  expect(stderr).toContain('appPort and daprHTTPPort of two must differ: both are 3500');
  expect(code).toBe(1);
});

describe('a directory that a state.sqlite has with exclusive', () => {
  const component = (path: string): string => `
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: { name: store }
spec:
  type: state.sqlite
  version: v1
  metadata: [{ name: path, value: ${JSON.stringify(path)} }, { name: exclusive, value: "true" }]
`;

  test.each<[who: string, place: string, args: (directory: string) => readonly string[]]>([
    ['a command', 'data', (directory) => ['--app-id', 'one', '--http-port', '0', '--resources-path', directory]],
    ['the applications of a file', '.insidecar', (directory) => ['-f', directory]],
  ])('is for %s alone', async (_who, place, args) => {
    const app = { appID: 'one', appDirPath: '.', command: program(STAYS), resourcesPath: 'store.yaml' };
    const directory = await resources({ 'dapr.yaml': JSON.stringify({ version: 1, apps: [app] }) });
    const path = join(directory, place);
    await writeFile(join(directory, 'store.yaml'), component(join(directory, 'data')));
    const holder = startCli(['run', '--log-json=false', ...args(directory)]);
    await untilSaid(holder.stderr, 'sidecar at');
    const flags = ['--app-id', 'two', '--http-port', '0', '--log-json=false', '--state-path', path];
    const { code, stderr } = await runCli(['run', ...flags, '--', ...program('')]);
    expect(stderr).toContain(`The state directory ${JSON.stringify(path)} is in use by process ${holder.child.pid}`);
    expect(stderr).toContain('It has it for itself (option "exclusive"');
    expect(code).toBe(1);
  });
});

test('a multi-app file among resource files is not taken for a resource', async () => {
  const directory = await resources({ 'dapr.yaml': 'version: 1\napps:\n  - { appDirPath: . }\n' });
  const cli = startCli(['run', '--app-id', 'one', '--resources-path', directory, '--', 'node', '-e', '']);
  expect((await cli.ended)[0]).toBe(0);
  expect(cli.stderr()).toContain('it is a multi-app file, for --run-file: it is not used as a resource');
});
