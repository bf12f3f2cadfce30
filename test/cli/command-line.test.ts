import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import nodeModule from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { MAIN, runCli, runHere, temporaryDirectory } from './cli.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

describe('insidecar', () => {
  test.each([['--version'], ['-v'], ['version']])('%s prints the version', async (flag) => {
    expect(await runCli([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test.skipIf(!('enableCompileCache' in nodeModule))('keeps the code that V8 compiles', async () => {
    const caches = await temporaryDirectory();
    await runCli(['run', '--help'], { env: { XDG_CACHE_HOME: caches } });
    const kept = await readdir(join(caches, 'insidecar'), { recursive: true, withFileTypes: true });
    expect(kept.filter((entry) => entry.isFile())).not.toEqual([]);
  });

  test('runs where nothing can be kept', async () => {
    const caches = join(await temporaryDirectory(), 'file');
    await writeFile(caches, '');
    const { code, stderr } = await runCli(['--version'], { env: { XDG_CACHE_HOME: caches } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  const helps = ['run', 'validate', 'queues', 'dead-letters', 'jobs', 'workflows'].map((name) => [[name, '--help']]);
  test.each([[['--help']], ...helps, [['run', '-h']], [['queues', 'purge', '-h']], [['jobs', 'help']]])(
    '%s fits a screen',
    async (args) => {
      const { code, stdout, stderr } = await runHere(args);
      const lines = stdout.trimEnd().split('\n');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(lines.length).toBeGreaterThanOrEqual(20);
      expect(lines.length).toBeLessThanOrEqual(50);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    },
  );

  test.each([
    'run',
    'list',
    'stop',
    'publish',
    'invoke',
    'validate',
    'queues',
    'jobs',
    'migrate-state',
    'postgresql-ddl',
  ])('help %s prints what %s --help prints', async (name) => {
    const help = await runHere(['help', name]);
    expect(help).toEqual(await runHere([name, '--help']));
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining(`insidecar ${name} `) });
  });

  test('help of an unknown command names the one that was meant', async () => {
    expect(await runHere(['help', 'rum'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unknown command rum. Did you mean run?'),
    });
  });

  test('run --help names the variables that are read', async () => {
    const { stdout } = await runHere(['run', '--help']);
    for (const name of ['DAPR_API_TOKEN', 'SIDECAR_API_TOKEN', 'APP_API_TOKEN', 'SIDECAR_IDENTITY_SECRET'])
      expect(stdout).toContain(name);
  });

  test('without a command: the help, and a failure', async () => {
    const { code, stdout, stderr } = await runCli([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('insidecar run [options] [-- command]');
  });

  test.each([
    [['rum'], 'unknown command rum. Did you mean run?'],
    [['run', '--ap-port', '3000'], 'unknown flag --ap-port. Did you mean --app-port?'],
    [['run', '--resources', 'x'], 'unknown flag --resources. Did you mean --resources-path?'],
    [['run', '--dapr-htp-port=3500'], 'unknown flag --dapr-htp-port. Did you mean --dapr-http-port?'],
    [['run', '-app-id', 'x'], 'unknown flag -app-id. Did you mean --app-id?'],
    [['run', '--app-id', 'x', '--__proto__', 'y'], 'unknown flag --__proto__.'],
    [['run', '--app-id', '--app-port', '3000'], '--app-id needs a value: --app-id ID'],
    [['run', '--app-id'], '--app-id needs a value: --app-id ID'],
    [
      ['run', '--app-id', 'x', '--app-port', 'http'],
      '--app-port must be an integer from -1 to 65535: actual is "http"',
    ],
    [['run', '--app-id', 'x', '--http-port', '65536'], '--http-port must be an integer from 1 to 65535'],
    [['run', '--app-id', 'x', '--wire', 'grpc'], '--wire must be one of dapr, sidecar: actual is "grpc"'],
    [
      ['run', '--app-id', 'x', '--max-body-size', '4 MB'],
      '--max-body-size must be a size such as 4Mi: actual is "4 MB"',
    ],
    [
      ['run', '--app-id', 'x', '--delivery-timeout', '5 min'],
      '--delivery-timeout must be a duration such as 5m or 1h30m, 0 for no limit: actual is "5 min"',
    ],
    [['run', '--app-id', 'x', '--job-timeout=-1s'], '--job-timeout must be a duration such as 5m'],
    [['run', '--app-id', 'x', '--inspect=no'], '--inspect must be an integer from 1 to 65535: actual is "no"'],
    [['run', '--inspect', '5000', '--app-id', 'x'], '--inspect takes its value after =: --inspect=5000'],
    [['run', '--app-id', 'x', '--inspect-token', 'x'], '--inspect-token goes with --inspect'],
    [
      ['queues', 'purg'],
      'unknown action purg: expected list, show, messages, purge, pause, resume, add-group, remove-group. Did you mean insidecar queues purge?',
    ],
    [['queues', 'show'], 'expected insidecar queues show TOPIC[/GROUP]: actual is nothing'],
    [['jobs', 'delete', 'a', 'b'], 'expected insidecar jobs delete NAME: actual is "a" "b"'],
    [['jobs', '--json', 'delete', 'a'], 'the action comes first: insidecar jobs delete'],
    [['workflows', '--sttus', 'FAILED'], 'unknown flag --sttus. Did you mean --status?'],
    [['queues', '--url', 'here'], '--url must be the URL of an inspector'],
    [['queues', '--url', 'http://127.0.0.1:1', '--http-port', '3500'], '--url does not go with --http-port'],
    [['queues', '--token', 'x'], '--token goes with --url'],
    [['run', '--app-id', 'x', '--log-json=maybe'], '--log-json is a switch: expected no value, true or false'],
    [['run', '--app-id', 'x', '--app-port', '3500'], '--app-port and --http-port must differ: both are 3500'],
    [['run', '--app-id', 'x', '--unix-domain-socket', '/tmp'], '--unix-domain-socket is not supported: the HTTP API'],
    [['run', '--', 'node'], '--app-id is missing, and so is APP_ID'],
    [['run', '-f', '.', '--app-id', 'x'], '--app-id does not go with --run-file'],
    [['run', '-f', '.', '--', 'node'], 'a command does not go with --run-file: actual is "node"'],
    [['run', '--app-id', 'a.b'], '--app-id must be 1 to 256 characters without dots, slashes and white space: actual'],
    [['run', '--app-id', 'a\nb'], '--app-id must be 1 to 256 characters'],
    [['run', '--app-id', 'x', '--', ''], 'the command is empty'],
    [['validate', '--map', 'redis', '.'], '--map must be TYPE=TYPE'],
  ])('%s is refused', async (args, message) => {
    const { code, stdout, stderr } = await runHere(args);
    expect(stderr).toContain(`insidecar: ${message}`);
    expect(stderr.trimEnd().split('\n')).toHaveLength(2);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('all that is wrong with values is told at once', async () => {
    const flags = ['--http-port', '99999', '--wire', 'grpc', '--max-body-size', '4 MB', '--inspect-token', 'x'];
    const { code, stderr } = await runHere(['run', ...flags, '--listen-address', 'a b', '--map', 'redis', '--', '']);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'insidecar: --listen-address must be addresses, with commas between them: actual is "a b"',
      '--wire must be one of dapr, sidecar: actual is "grpc"',
      '--map must be TYPE=TYPE, such as pubsub.redis=pubsub.in-memory: actual is "redis"',
      '--inspect-token goes with --inspect',
      '--app-id is missing, and so is APP_ID: insidecar run --app-id orders -- node app.js',
      'the command is empty',
      '--http-port must be an integer from 1 to 65535: actual is "99999"',
      '--max-body-size must be a size such as 4Mi: actual is "4 MB"',
      'See insidecar run --help.',
    ]);
    expect(code).toBe(2);
  });

  test('all flags that cannot be read are told at once', async () => {
    const { code, stderr } = await runHere(['run', '--ap-id=x', '--log-json=maybe', '--unix-domain-socket', '/tmp']);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'insidecar: unknown flag --ap-id. Did you mean --app-id?',
      '--log-json is a switch: expected no value, true or false, actual is "maybe"',
      expect.stringMatching(/^--unix-domain-socket is not supported: /),
      'See insidecar run --help.',
    ]);
    expect(code).toBe(2);
  });

  test('flags that cannot be read hide no wrong value of others, and no flag that may have been meant', async () => {
    const flags = ['--ap-id', 'x', '--http-port', '99999', '--inspct', '--inspect-token', 'x', '--wire', 'grpc'];
    const { code, stderr } = await runHere(['run', ...flags, '--', 'node', 'app.js']);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'insidecar: unknown flag --ap-id. Did you mean --app-id?',
      'unknown flag --inspct. Did you mean --inspect?',
      '--wire must be one of dapr, sidecar: actual is "grpc"',
      '--http-port must be an integer from 1 to 65535: actual is "99999"',
      'See insidecar run --help.',
    ]);
    expect(code).toBe(2);
  });

  test('the built command can be executed as it is', async () => {
    expect((await promisify(execFile)(MAIN, ['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
  });

  test('a refusal is told on standard error, and is the exit code of the process', async () => {
    const { code, stdout, stderr } = await runCli(['run', '--ap-port', '3000']);
    expect(stderr).toBe('insidecar: unknown flag --ap-port. Did you mean --app-port?\nSee insidecar run --help.\n');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('flags of Dapr that mean nothing here are accepted with a note', async () => {
    const foreign = ['--dapr-grpc-port', '50001', '--placement-host-address', 'localhost:50005', '--enable-mtls=true'];
    const { code, stderr } = await runCli([
      'run',
      '--app-id',
      'x',
      ...foreign,
      '--log-as-json=false',
      '--',
      process.execPath,
      '-e',
      '',
    ]);
    expect(stderr).toContain('--dapr-grpc-port does nothing here: there is no gRPC API');
    expect(stderr).toContain('--placement-host-address does nothing here: everything runs in this process');
    expect(stderr).toContain('--enable-mtls does nothing here');
    expect(code).toBe(0);
  });
});

test('what is wrong with a multi-app file is told with its line, all of it', async () => {
  const directory = await temporaryDirectory();
  const lines = ['version: 1', 'apps:', '  - appID: one', '    appDirPath: .', '    appPort: many', '  - appID: two'];
  await writeFile(join(directory, 'dapr.yaml'), lines.join('\n'));
  const { code, stderr } = await runHere(['run', '-f', directory]);
  expect(stderr).toMatch(/dapr\.yaml:5:\d+.*appPort/);
  expect(stderr).toMatch(/dapr\.yaml:6:\d+.*appDirPath is missing/);
  expect(stderr).not.toContain('    at ');
  expect(code).toBe(1);
});

test('a multi-app file that is not there is named', async () => {
  const { code, stderr } = await runHere(['run', '-f', '/no/such/dapr.yaml']);
  expect(stderr).toContain('insidecar: "/no/such/dapr.yaml" cannot be read: expected a multi-app file');
  expect(code).toBe(2);
  const empty = await temporaryDirectory();
  expect(await runHere(['run', '-f', empty])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${JSON.stringify(join(empty, 'dapr.yaml'))} cannot be read`),
  });
});

test.each([
  ['{ appPort: 7100 }', '{ appPort: 7100 }', 'appPort of two must differ from appPort of one: both are 7100'],
  ['{ daprHTTPPort: 7100 }', '{ appPort: 7100 }', 'appPort of two must differ from daprHTTPPort of one: both are 7100'],
  ['{ daprHTTPPort: 7100 }', '{ daprHTTPPort: 7100 }', 'daprHTTPPort of two must differ from daprHTTPPort of one'],
  ['{ command: [""] }', '{}', 'the command of one is empty'],
])('a multi-app file with %s and %s is refused', async (one, two, message) => {
  const file = join(await temporaryDirectory(), 'dapr.yaml');
  // What is written out goes before what is merged.
  const app = (appId: string, fields: string): string =>
    `  - { <<: [${fields}, { command: ['true'] }], appID: ${appId}, appDirPath: . }`;
  await writeFile(file, ['version: 1', 'apps:', app('one', one), app('two', two)].join('\n'));
  const { code, stderr } = await runHere(['run', '-f', file]);
  expect(stderr).toContain(`insidecar: ${message}`);
  expect(code).toBe(1);
});
