import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatFinding, loadMultiApp, type MultiApp } from '../../src/resources/index.ts';
import { RecordingLogger } from '../support/logger.ts';
import { directoryWith } from './files.ts';

/** Loads a `dapr.yaml` that has the directories `one` and `two` beside it. */
async function load(
  yaml: string,
  files: Readonly<Record<string, string>> = {},
): Promise<{ at: string; multi: MultiApp }> {
  const at = await directoryWith({ 'dapr.yaml': yaml, 'one/app.js': '', 'two/app.js': '', ...files });
  return { at, multi: await loadMultiApp(join(at, 'dapr.yaml')) };
}

async function failureOf(yaml: string): Promise<string> {
  const at = await directoryWith({ 'dapr.yaml': yaml, 'one/app.js': '', 'two/app.js': '' });
  const error = await loadMultiApp(join(at, 'dapr.yaml')).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: 'ERR_CONFIGURATION' });
  return String(Object(error).message).replaceAll(at, '');
}

describe('a multi-app file', () => {
  test('an application has what is written, in our units', async () => {
    const { at, multi } = await load(`version: 1
name: shop
apps:
- appID: orders
  appDirPath: one
  appPort: 3000
  appChannelAddress: localhost
  appProtocol: grpc
  appSSL: true
  daprHTTPPort: 3501
  command: [node, app.js]
  env: {DEBUG: true, PORT: 3000, NAME: x}
  enableAppHealthCheck: true
  appHealthCheckPath: /ready
  appHealthProbeInterval: 3
  appHealthProbeTimeout: 700
  appHealthThreshold: 4
  appMaxConcurrency: 8
  appLogDestination: console
  daprdLogDestination: fileAndConsole
  logLevel: debug
  maxBodySize: 8Mi
  readBufferSize: 64Ki
`);
    expect(multi).toEqual({
      file: join(at, 'dapr.yaml'),
      name: 'shop',
      apps: [
        {
          appId: 'orders',
          appDirPath: join(at, 'one'),
          appPort: 3000,
          appChannelAddress: 'localhost',
          appProtocol: 'grpcs',
          daprHTTPPort: 3501,
          command: ['node', 'app.js'],
          env: { DEBUG: 'true', PORT: '3000', NAME: 'x' },
          health: { path: '/ready', probeIntervalMs: 3_000, probeTimeoutMs: 700, threshold: 4 },
          appMaxConcurrency: 8,
          appLogDestination: 'console',
          daprdLogDestination: 'fileAndConsole',
          logLevel: 'debug',
          bodyLimitBytes: 8 * 1024 * 1024,
          headLimitBytes: 64 * 1024,
          resourcesPaths: [],
        },
      ],
      notes: [],
    });
  });

  test('what is not written has its default', async () => {
    const { at, multi } = await load('version: 1\napps: [{appDirPath: ./one/, appPort: -1, appMaxConcurrency: 0}]');
    expect(multi.apps).toEqual([
      {
        appId: 'one',
        appDirPath: join(at, 'one'),
        appProtocol: 'http',
        command: [],
        env: {},
        resourcesPaths: [],
        appLogDestination: 'fileAndConsole',
        daprdLogDestination: 'file',
      },
    ]);
  });

  test('what is common holds where an application says nothing else', async () => {
    const { multi } = await load(`version: 1
common:
  env: {A: common, B: common}
  appProtocol: h2c
  appMaxConcurrency: 3
apps:
- {appDirPath: one, env: {B: own}}
- {appDirPath: two, appProtocol: http}
`);
    expect(multi.apps.map(({ env, appProtocol, appMaxConcurrency }) => [env, appProtocol, appMaxConcurrency])).toEqual([
      [{ A: 'common', B: 'own' }, 'h2c', 3],
      [{ A: 'common', B: 'common' }, 'http', 3],
    ]);
  });

  test('paths are relative to the file, those of an application to its directory', async () => {
    const { at, multi } = await load(
      `version: 1
common: {resourcesPath: shared, configFilePath: config.yaml}
apps:
- {appDirPath: one, resourcesPaths: [r, ../more], resourcesPath: last, configFilePath: ../own.yaml}
- {appDirPath: two, resourcesPaths: "a, ../more"}
`,
      {
        'shared/a.yaml': '',
        'config.yaml': '',
        'own.yaml': '',
        'one/r/a.yaml': '',
        'one/last/a.yaml': '',
        'more/a.yaml': '',
        'two/a/a.yaml': '',
      },
    );
    expect(
      multi.apps.map(({ resourcesPaths, configFilePath }) => [
        resourcesPaths.map((path) => relative(at, path)),
        relative(at, configFilePath ?? ''),
      ]),
    ).toEqual([
      [['one/r', 'more', 'one/last'], 'own.yaml'],
      [['two/a', 'more'], 'config.yaml'],
    ]);
  });

  test('the folder .dapr of an application goes before what is common', async () => {
    const { at, multi } = await load(
      'version: 1\ncommon: {resourcesPaths: [shared], configFilePath: shared/c.yaml}\napps: [{appDirPath: one}, {appDirPath: two}]',
      { 'shared/c.yaml': '', 'one/.dapr/resources/a.yaml': '', 'one/.dapr/config.yaml': '' },
    );
    expect(
      multi.apps.map(({ resourcesPaths, configFilePath }) => [
        resourcesPaths.map((path) => relative(at, path)),
        relative(at, configFilePath ?? ''),
      ]),
    ).toEqual([
      [['one/.dapr/resources'], 'one/.dapr/config.yaml'],
      [['shared'], 'shared/c.yaml'],
    ]);
  });

  test('~ is the home directory', async () => {
    const { multi } = await load('version: 1\napps: [{appID: home, appDirPath: "~"}]');
    expect(multi.apps[0]?.appDirPath).toBe(homedir());
  });

  test('fields without a use here are noted', async () => {
    const { multi } = await load('version: 1\napps: [{appDirPath: one, metricsPort: 9090}]');
    expect(multi.notes.map((note) => formatFinding({ ...note, file: 'dapr.yaml' }))).toEqual([
      'dapr.yaml:2:26 (document 1): apps[0].metricsPort has no use here',
    ]);
  });

  test('notes are logged', async () => {
    const logger = new RecordingLogger();
    const at = await directoryWith({
      'dapr.yaml': 'version: 1\napps: [{appDirPath: ".", appID: one, profilePort: 1}]',
    });
    await loadMultiApp(join(at, 'dapr.yaml'), { logger });
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'apps[0].profilePort has no use here'],
    ]);
  });
});

describe('a multi-app file that cannot be used', () => {
  test('a field that there is not is an error that says which was probably meant', async () => {
    expect(
      await failureOf(
        'version: 1\nnmae: x\ncommon: {env: {}, appProtocl: http}\napps: [{appDirPath: one, comand: [a]}]',
      ),
    ).toBe(
      [
        '3 problems in /dapr.yaml:',
        '  /dapr.yaml:2:1 (document 1): unknown field nmae; did you mean "name"?',
        '  /dapr.yaml:3:19 (document 1): unknown field common.appProtocl; did you mean "appProtocol"?',
        '  /dapr.yaml:4:26 (document 1): unknown field apps[0].comand; did you mean "command"?',
      ].join('\n'),
    );
  });

  test('what the schema finds and paths that are not there are told together', async () => {
    const yaml = `version: 1
apps:
- {appDirPath: one, appPort: x}
- {appDirPath: missing, comand: [a]}
- {appID: two, resourcesPaths: [1], appDirPath: gone}
- {appID: two, appDirPath: two, configFilePath: nowhere.yaml}`;
    expect((await failureOf(yaml)).split('\n').map((line) => line.replace(/: looked for.*/, ''))).toEqual([
      '5 problems in /dapr.yaml:',
      '  /dapr.yaml:3:30 (document 1): apps[0].appPort must be integer: actual is "x"',
      '  /dapr.yaml:4:16 (document 1): missing is not there',
      '  /dapr.yaml:4:25 (document 1): unknown field apps[1].comand; did you mean "command"?',
      '  /dapr.yaml:5:33 (document 1): apps[2].resourcesPaths[0] must be string: actual is 1',
      '  /dapr.yaml:6:49 (document 1): nowhere.yaml is not there',
    ]);
  });

  test('everything that is wrong is told together', async () => {
    expect(
      await failureOf(`version: 2
apps:
- {appDirPath: one, appPort: "3000"}
- {appID: a.b, command: node, appLogDestination: flie}
`),
    ).toBe(`6 problems in /dapr.yaml:
  /dapr.yaml:1:10 (document 1): version is 2: expected 1
  /dapr.yaml:3:30 (document 1): apps[0].appPort must be integer: actual is "3000"
  /dapr.yaml:4:3 (document 1): apps[1].appDirPath is missing
  /dapr.yaml:4:11 (document 1): apps[1].appID is "a.b": expected up to 256 characters without dots, slashes and white space
  /dapr.yaml:4:25 (document 1): apps[1].command must be array: actual is "node"
  /dapr.yaml:4:50 (document 1): apps[1].appLogDestination is "flie": expected console, file, fileAndConsole; did you mean "file"?`);
  });

  test('one that is not there', async () => {
    await expect(loadMultiApp('/no/such/dapr.yaml')).rejects.toThrow(
      '1 problem in /no/such/dapr.yaml:\n  /no/such/dapr.yaml: it cannot be read: there is no such file',
    );
  });

  test.each(['', '# nothing'])('%j is empty', async (text) => {
    expect(await failureOf(text)).toContain('/dapr.yaml: it is empty: expected version and apps');
  });

  test('two documents', async () => {
    expect(await failureOf('version: 1\napps: [{appDirPath: one}]\n---\nversion: 1')).toContain(
      '/dapr.yaml:4:1 (document 2): a multi-app file has one document',
    );
  });

  test('no application', async () => {
    expect(await failureOf('version: 1\napps: []')).toContain(
      '/dapr.yaml:2:7 (document 1): apps must NOT have fewer than 1 items',
    );
  });

  test('two applications with one ID', async () => {
    expect(await failureOf('version: 1\napps:\n- {appDirPath: one}\n- {appDirPath: two, appID: one}')).toContain(
      '/dapr.yaml:4:3 (document 1): app ID "one" is that of apps[0] too',
    );
  });

  test('an app ID from a directory that is none', async () => {
    const at = await directoryWith({ 'dapr.yaml': 'version: 1\napps: [{appDirPath: my.app}]', 'my.app/a': '' });
    await expect(loadMultiApp(join(at, 'dapr.yaml'))).rejects.toThrow(
      'dapr.yaml:2:8 (document 1): the directory gives the app ID "my.app": expected up to 256 characters',
    );
  });

  test('paths that are not there', async () => {
    const message = await failureOf(`version: 1
apps:
- {appDirPath: nope}
- {appDirPath: two, resourcesPaths: [nope], configFilePath: no.yaml}
`);
    expect(message).toContain('/dapr.yaml:3:16 (document 1): nope is not there: looked for /nope');
    expect(message).toContain('/dapr.yaml:4:38 (document 1): nope is not there: looked for /two/nope');
    expect(message).toContain('/dapr.yaml:4:61 (document 1): no.yaml is not there: looked for /two/no.yaml');
  });

  test('a value of env shows nowhere', async () => {
    expect(await failureOf('version: 1\napps: [{appDirPath: one, env: {A: [hunter2]}}]')).not.toContain('hunter2');
  });
});
