import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadPackage } from '../../src/util/load-package.ts';
import { runCli, temporaryDirectory } from './cli.ts';

const ROOT = process.cwd();

/** The command, installed elsewhere as `npx` and `npm install --global` do it: without optional packages. */
let main = '';

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'insidecar-elsewhere-'));
  main = await installIn(join(directory, 'node_modules'));
  return () => rm(directory, { recursive: true });
});

async function installIn(modules: string): Promise<string> {
  const own = join(modules, 'insidecar');
  await mkdir(own, { recursive: true });
  for (const part of ['dist', 'schemas', 'package.json'])
    await cp(join(ROOT, part), join(own, part), { recursive: true });
  const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as PackageFile;
  for (const name of Object.keys(dependencies)) await linkPackage(name, modules);
  return join(own, 'dist/cli.cjs');
}

interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

async function linkPackage(name: string, modules: string): Promise<void> {
  await mkdir(dirname(join(modules, name)), { recursive: true });
  await symlink(join(ROOT, 'node_modules', name), join(modules, name));
}

/** The working directory of a run, with one component. */
async function directoryWith(type: string, metadata: Readonly<Record<string, string>>): Promise<string> {
  const directory = await temporaryDirectory();
  const items = Object.entries(metadata).map(([name, value]) => ({ name, value }));
  const spec = { type, version: 'v1', metadata: items };
  const component = { apiVersion: 'dapr.io/v1alpha1', kind: 'Component', metadata: { name: 'one' }, spec };
  await mkdir(join(directory, 'resources'));
  await writeFile(join(directory, 'resources/one.yaml'), JSON.stringify(component));
  return directory;
}

const DOWN = '127.0.0.1:9';
const RUN = ['run', '--app-id', 'a', '--resources-path', 'resources', '--log-json', '--', process.execPath, '-e', ''];

describe('a package that is not installed', () => {
  test.each([
    ['pubsub.redis', { redisHost: DOWN }, 'The pub/sub component of type pubsub.redis', 'redis@6'],
    [
      'pubsub.rabbitmq',
      { connectionString: `amqp://${DOWN}` },
      'The pub/sub component of type pubsub.rabbitmq',
      'amqplib@2',
    ],
    ['pubsub.mqtt3', { url: `tcp://${DOWN}` }, 'The pub/sub component of type pubsub.mqtt3', 'mqtt-packet@9'],
    [
      'pubsub.jetstream',
      { natsURL: `nats://${DOWN}` },
      'The pub/sub component of type pubsub.jetstream',
      '@nats-io/transport-node@3',
    ],
    [
      'pubsub.kafka',
      { brokers: DOWN, authType: 'none' },
      'The pub/sub component of type pubsub.kafka',
      '@platformatic/kafka@1',
    ],
    ['state.redis', { redisHost: DOWN }, 'State in Redis', 'redis@6'],
    ['state.postgresql', { connectionString: 'host=127.0.0.1 port=9' }, 'State in PostgreSQL', 'pg@8'],
  ])('%s: one line names it and the command that installs it, and no stack', async (type, metadata, what, install) => {
    const cwd = await directoryWith(type, metadata);
    const { code, stderr } = await runCli(RUN, { cwd, main });
    const name = install.replace(/@\d+$/, '');
    expect(stderr).toContain(`\ninsidecar: ${what} needs the package ${name}: run "npm install ${install}".\n`);
    expect(stderr).not.toMatch(/ at .*\.cjs:|"stack"/);
    expect(code).toBe(1);
  });

  test('is named with a version that the package accepts', async () => {
    const { peerDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as PackageFile;
    const sources = ['redis', 'postgresql', 'rabbitmq', 'mqtt', 'jetstream', 'kafka'].map(
      (room) => `components/${room}/driver.ts`,
    );
    for (const source of [...sources, 'app/grpc-module.ts']) {
      const text = await readFile(join(ROOT, 'src', source), 'utf8');
      const [, name = ''] = /name = '([^']+)'/.exec(text) ?? [];
      const [, version = ''] = /version: '([^']+)'/.exec(text) ?? [];
      expect(peerDependencies[name], name).toMatch(new RegExp(`^\\^${version}\\.`));
    }
  });

  test('is taken from the working directory, as under npx or after a global install', async () => {
    const cwd = await directoryWith('pubsub.mqtt3', { url: `tcp://${DOWN}` });
    await linkPackage('mqtt-packet', join(cwd, 'node_modules'));
    const { stderr } = await runCli([...RUN.slice(0, -4), '--', process.execPath, '-e', ''], {
      cwd,
      main,
    });
    expect(stderr).not.toContain('needs the package');
    expect(stderr).toContain('ECONNREFUSED');
  });

  test('is no reason not to run, when it is for metrics only', async () => {
    const directory = await temporaryDirectory();
    const args = [
      'run',
      '--app-id',
      'a',
      '--metrics-port',
      '9090',
      '--log-json',
      '--',
      process.execPath,
      '-e',
      'console.log("ran")',
    ];
    const { code, stdout, stderr } = await runCli(args, { cwd: directory, main });
    expect(stderr).toContain(
      'no metrics are served: --metrics-port needs packages that are not installed: run \\"npm install @opentelemetry/',
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'a         | ran\n' });
  });
});

test('a package that is there and cannot be loaded is told with its error', async () => {
  const directory = await temporaryDirectory();
  const broken = join(directory, 'broken.mjs');
  await writeFile(broken, 'import "package-that-is-not-there";');
  const loading = loadPackage({ name: broken, neededBy: 'A test' }, (message, cause) => new Error(message, { cause }));
  await expect(loading).rejects.toThrow(
    /^A test needs the package .*broken\.mjs, which cannot be loaded: .*package-that-is-not-there/,
  );
});
