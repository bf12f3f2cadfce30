import { statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort, type Listening, listen, send } from '../support/http.ts';
import {
  PATIENCE,
  program,
  runCli,
  runHere,
  runtimeDirectory,
  startCli,
  temporaryDirectory,
  untilSaid,
} from './cli.ts';

const SECRET = 'a secret that is long enough for HS256';

/** Lets `shop` have the price, and nobody anything else. */
const POLICY = {
  defaultAction: 'deny',
  policies: [
    {
      appId: 'shop',
      namespace: 'default',
      trustDomain: 'public',
      defaultAction: 'deny',
      operations: [{ name: '/price', httpVerb: ['GET'], action: 'allow' }],
    },
  ],
};

const configuration = (spec: object): string =>
  JSON.stringify({ apiVersion: 'dapr.io/v1alpha1', kind: 'Configuration', metadata: { name: 'config' }, spec });

/** An application that tells who calls it. */
const warehouse = (): Promise<Listening> =>
  listen((req, res) => {
    if (req.url === '/dapr/subscribe') return void res.writeHead(404).end();
    res.end(`${req.url} for ${req.headers['dapr-caller-app-id']}`);
  });

describe('access control between separate commands', () => {
  /** The answers that callers get, each from a run of its own with what is in its environment. */
  async function answersTo(
    callers: readonly (readonly [appId: string, path: string, env: NodeJS.ProcessEnv])[],
    calleeEnv: NodeJS.ProcessEnv,
  ) {
    await using app = await warehouse();
    const directory = await temporaryDirectory();
    const [calleePort, file] = [String(await freePort()), (name: string) => join(directory, name)];
    const nameResolution = {
      component: 'static',
      configuration: { warehouse: `http://127.0.0.1:${calleePort}` },
    };
    await writeFile(file('callee.yaml'), configuration({ accessControl: POLICY }));
    await writeFile(file('caller.yaml'), configuration({ nameResolution }));
    const run = async (appId: string, port: string, config: string, env: NodeJS.ProcessEnv, ...more: string[]) => {
      const cli = startCli(['run', '--app-id', appId, '--http-port', port, '--config', config, ...more], { env });
      await untilSaid(cli.stderr, 'sidecar at');
    };
    await run('warehouse', calleePort, file('callee.yaml'), calleeEnv, '--app-port', String(app.port));
    const asked = callers.map(async ([appId, path, env]) => {
      const port = String(await freePort());
      await run(appId, port, file('caller.yaml'), env);
      const { status, text } = await send(`http://127.0.0.1:${port}`, 'GET', `/v1.0/invoke/warehouse/method/${path}`);
      return status === 200 ? text : status;
    });
    return await Promise.all(asked);
  }

  test('holds by the secret in SIDECAR_IDENTITY_SECRET', async () => {
    const secret = { SIDECAR_IDENTITY_SECRET: SECRET };
    expect(
      await answersTo(
        [
          ['shop', 'price', secret],
          ['shop', 'secret', secret],
          ['thief', 'price', secret],
          ['shop', 'price', { INSIDECAR_ISOLATED: 'true' }],
          ['shop', 'price', { SIDECAR_IDENTITY_SECRET: SECRET.toUpperCase() }],
        ],
        secret,
      ),
    ).toEqual(['/price for shop', 403, 403, 403, 401]);
  });

  test('holds without a key between those that share; one that does not is anonymous', async () => {
    const shared = { XDG_RUNTIME_DIR: runtimeDirectory() };
    expect(
      await answersTo(
        [
          ['shop', 'price', shared],
          ['shop', 'secret', shared],
          ['thief', 'price', shared],
          ['shop', 'price', { ...shared, INSIDECAR_ISOLATED: 'true' }],
          // Of another directory, as that of another user.
          ['shop', 'price', {}],
        ],
        shared,
      ),
    ).toEqual(['/price for shop', 403, 403, 403, 401]);
    const key = statSync(join(shared.XDG_RUNTIME_DIR, 'insidecar', 'identity.key'));
    expect([key.mode & 0o077, key.size]).toEqual([0, 43]);
  });
});

test('access control holds between the applications of one run, without any key', async () => {
  await using app = await warehouse();
  const directory = await temporaryDirectory();
  const ports = { shop: await freePort(), thief: await freePort() };
  const stays = program('setInterval(() => {}, 1000)');
  const common = { appDirPath: '.', command: stays };
  const apps = [
    { ...common, appID: 'warehouse', appPort: app.port, command: [], configFilePath: 'acl.yaml' },
    { ...common, appID: 'shop', daprHTTPPort: ports.shop },
    { ...common, appID: 'thief', daprHTTPPort: ports.thief },
  ];
  await writeFile(join(directory, 'dapr.yaml'), JSON.stringify({ version: 1, apps }));
  await writeFile(join(directory, 'acl.yaml'), configuration({ accessControl: POLICY }));
  const cli = startCli(['run', '-f', directory]);
  await expect.poll(() => cli.stderr().match(/sidecar at/g)?.length, PATIENCE).toBe(3);
  const ask = async (port: number, path: string): Promise<unknown> => {
    const { status, text } = await send(`http://127.0.0.1:${port}`, 'GET', `/v1.0/invoke/warehouse/method/${path}`);
    return status === 200 ? text : status;
  };
  expect([await ask(ports.shop, 'price'), await ask(ports.shop, 'x'), await ask(ports.thief, 'price')]).toEqual([
    '/price for shop',
    403,
    403,
  ]);
});

test('the command does not get the secret', async () => {
  const args = ['run', '--app-id', 'a', '--http-port', String(await freePort()), '--log-json=false', '--'];
  const code = 'console.log(process.env.SIDECAR_IDENTITY_SECRET ?? "none", process.env.SIDECAR_API_TOKEN)';
  const env = { SIDECAR_IDENTITY_SECRET: SECRET, SIDECAR_API_TOKEN: 'token' };
  const { stdout, stderr } = await runCli([...args, ...program(code)], { env });
  expect(stdout).toBe('a         | none token\n');
  expect(stderr).not.toContain(SECRET);
});

describe('errors about options name the flags of the command', () => {
  const base = ['run', '--app-id', 'a', '--app-port', '3000', '--log-json=false'];
  const health = [...base, '--enable-app-health-check'];
  test.each<[args: readonly string[], message: string]>([
    [
      [...health, '--app-health-probe-timeout', '9000'],
      '--app-health-probe-timeout is 9000 ms: expected at most --app-health-probe-interval, 5000 ms',
    ],
    [
      [...health, '--app-health-check-path', 'a b'],
      '--app-health-check-path must be visible ASCII characters without spaces',
    ],
    [[...base, '--allowed-origins', 'shop.example.com'], '--allowed-origins "shop.example.com" is no origin: expected'],
    [
      [...base, '--allowed-hosts', 'shop.example.com,https://x'],
      '--allowed-hosts must be the name of a host, without a port: actual is "https://x"',
    ],
    [
      [...base, '--inspect', '--inspect-token', 'fifteen-letters'],
      '--inspect-token (or INSIDECAR_INSPECT_TOKEN): expected visible ASCII characters without spaces, at least 16',
    ],
    [
      [...base, '--map', 'pubsub.redis=redis', '-d', '.'],
      '--map: pubsub.redis cannot be replaced by "redis": expected',
    ],
  ])('%j', async (args, message) => {
    const port = String(await freePort());
    const { code, stderr } = await runHere([...args, '--http-port', port]);
    expect(stderr).toContain(`insidecar: ${message}`);
    expect(stderr).not.toContain('options.');
    expect(code).toBe(1);
  });

  test('and --allowed-hosts lets names in', async () => {
    const port = await freePort();
    const cli = startCli([
      'run',
      '--app-id',
      'a',
      '--http-port',
      String(port),
      '--allowed-hosts',
      'b.example,c.example',
    ]);
    await expect.poll(() => cli.stderr(), PATIENCE).toContain('sidecar at');
    const ask = async (host: string): Promise<number> =>
      (await send(`http://127.0.0.1:${port}`, 'GET', '/v1.0/metadata', { headers: { host } })).status;
    expect([await ask('c.example'), await ask('d.example')]).toEqual([200, 403]);
  });

  test('or the fields of the multi-app file, with the application', async () => {
    const directory = await temporaryDirectory();
    const apps = [
      { appID: 'shop', appDirPath: '.', appPort: 3000, enableAppHealthCheck: true, appHealthProbeTimeout: 9000 },
    ];
    await writeFile(join(directory, 'dapr.yaml'), JSON.stringify({ version: 1, apps }));
    const { code, stderr } = await runHere(['run', '-f', directory]);
    expect(stderr).toContain(
      'insidecar: appHealthProbeTimeout of shop is 9000 ms: expected at most appHealthProbeInterval of shop, 5000 ms\n',
    );
    expect(code).toBe(1);
  });

  test('an identity secret that is too short is named by its variable, and not shown', async () => {
    const args = ['run', '--app-id', 'a', '--http-port', String(await freePort())];
    const { code, stderr } = await runCli(args, { env: { SIDECAR_IDENTITY_SECRET: 'hush hush' } });
    expect(stderr).toContain('environment variable SIDECAR_IDENTITY_SECRET must have at least 32 bytes: actual is 9');
    expect(stderr).not.toContain('hush');
    expect(code).toBe(1);
  });
});

test('--invoke-urls=false refuses URLs as targets', async () => {
  await using service = await listen((_req, res) => res.end('reached'));
  const path = `/v1.0/invoke/${encodeURIComponent(service.url)}/method/x`;
  const askWith = async (...flags: readonly string[]): Promise<number> => {
    const port = String(await freePort());
    const cli = startCli(['run', '--app-id', 'a', '--http-port', port, ...flags]);
    await untilSaid(cli.stderr, 'sidecar at');
    return (await send(`http://127.0.0.1:${port}`, 'GET', path)).status;
  };
  expect(await Promise.all([askWith(), askWith('--invoke-urls=false')])).toEqual([200, 400]);
});

describe('the placement table is shown', () => {
  test.each<[what: string, flags: readonly string[], env: NodeJS.ProcessEnv, status: number]>([
    ['not by itself', [], {}, 404],
    ['with --metadata-enabled', ['--metadata-enabled'], {}, 200],
    [
      'with the variable of the API document, whatever the wire',
      [],
      { SIDECAR_PLACEMENT_METADATA_ENABLED: 'true' },
      200,
    ],
    ['with Dapr’s variable', ['--wire', 'sidecar'], { DAPR_PLACEMENT_METADATA_ENABLED: '1' }, 200],
    ['not against the flag', ['--metadata-enabled=false'], { SIDECAR_PLACEMENT_METADATA_ENABLED: 'true' }, 404],
  ])('%s', async (_, flags, env, status) => {
    const port = String(await freePort());
    const cli = startCli(['run', '--app-id', 'a', '--http-port', port, ...flags], { env });
    await untilSaid(cli.stderr, 'sidecar at');
    expect((await send(`http://127.0.0.1:${port}`, 'GET', '/placement/state')).status).toBe(status);
  });

  test('not when a variable is neither true nor false, which is an error', async () => {
    const { code, stderr } = await runCli(['run', '--app-id', 'a'], {
      env: { SIDECAR_PLACEMENT_METADATA_ENABLED: 'maybe' },
    });
    expect(stderr).toContain('environment variable SIDECAR_PLACEMENT_METADATA_ENABLED is "maybe"');
    expect(code).toBe(1);
  });
});
