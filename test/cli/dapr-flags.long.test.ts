import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort, listen, send } from '../support/http.ts';
import { program, runCli, runHere, startCli, temporaryDirectory, untilSaid } from './cli.ts';

/** Says what it was given, and ends. */
const ENDS = program('');

const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

async function runWith(...flags: readonly string[]): Promise<{ code: number | null; stderr: string; stdout: string }> {
  return runCli(['run', '--app-id', 'a', '--http-port', '0', ...flags, '--', ...ENDS]);
}

describe('flags of daprd 1.18', () => {
  test('that mean nothing here are notes', async () => {
    const flags = [
      ...['--actors-disseminate-timeout', '5s', '--app-binding-options-timeout', '5s', '--log-file', 'x.log'],
      ...['--control-plane-trust-domain', 'a', '--control-plane-namespace', 'b', '--control-plane-address', 'c'],
      ...['--scheduler-job-streams', '3', '--sentry-request-jwt-audiences', 'a,b', '--actors-service', 'a:b'],
      ...['--reminders-service', 'a:b', '--build-info', '--version'],
    ];
    const { code, stderr } = await runWith(...flags);
    expect(code).toBe(0);
    expect(stderr.match(/does nothing here/g)).toHaveLength(12);
  });

  test.each(['T', '1', 'True', 'TRUE', 'F', '0', 'False'])('a switch takes %s', async (text) => {
    const { code, stderr } = await runWith(`--enable-app-health-check=${text}`);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('is a switch')]);
  });

  test.each(['yes', '2', ''])('a switch does not take %j', async (text) => {
    const { code, stderr } = await runHere(['run', '--app-id', 'a', `--enable-app-health-check=${text}`]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is a switch: expected no value, true or false')]);
  });

  test('choices are in any case', async () => {
    expect((await runWith('--app-protocol', 'HTTP', '--log-level', 'WARN', '--wire', 'Dapr')).code).toBe(0);
  });

  test.each(['0', '-1'])('--http-port %s means any free port', async (port) => {
    const { code, stderr } = await runCli(['run', '--app-id', 'a', '--http-port', port, '--', ...ENDS]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/sidecar at http:\/\/127\.0\.0\.1:\d{4,5}/)]);
  });

  test('--metrics-port 0 means any free port, -1 none', async () => {
    expect((await runWith('--metrics-port', '0')).stderr).toMatch(/metrics at http:\/\/127\.0\.0\.1:[1-9]\d+\/metrics/);
    expect((await runWith('--metrics-port', '-1')).stderr).not.toContain('metrics');
  });
});

describe('--disable-init-endpoints', () => {
  /** An application that lists a subscription; says what it was asked. */
  async function asked(...flags: readonly string[]): Promise<string[]> {
    const paths: string[] = [];
    await using app = await listen((req, res) => {
      paths.push(String(req.url));
      res.end('[]');
    });
    const cli = startCli(['run', '--app-id', 'a', '--http-port', '0', '--app-port', String(app.port), ...flags]);
    await untilSaid(cli.stderr, 'the application is ready');
    cli.child.kill();
    await cli.ended;
    return paths;
  }

  test('=subscribe: the application is not asked for subscriptions', async () => {
    expect(await asked('--disable-init-endpoints=subscribe')).not.toContain('/dapr/subscribe');
    expect(await asked('--disable-init-endpoints', 'config, subscribe')).not.toContain('/dapr/subscribe');
    expect(await asked('--disable-init-endpoints', 'config')).toContain('/dapr/subscribe');
  });

  test('names of other endpoints are refused', async () => {
    const { code, stderr } = await runHere(['run', '--app-id', 'a', '--disable-init-endpoints', 'subscriptions']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('must be config, subscribe or both: actual is')]);
  });
});

describe('--dapr-listen-addresses', () => {
  test.skipIf(!HAS_IPV6)('may be several, IPv6 in brackets: all have the same port', async () => {
    const port = await freePort();
    const cli = startCli([
      ...['run', '--app-id', 'a', '--http-port', String(port)],
      ...['--dapr-listen-addresses', '[::1],127.0.0.1'],
    ]);
    await untilSaid(cli.stderr, `sidecar at http://[::1]:${port}`);
    for (const host of ['[::1]', '127.0.0.1'])
      expect((await fetch(`http://${host}:${port}/v1.0/healthz`)).status).toBe(204);
    cli.child.kill();
    expect(await cli.ended).toEqual([0, null]);
  });

  test('one that this machine does not have is left out beside others, with a warning', async () => {
    const { code, stderr } = await runWith('--listen-address', '127.0.0.1,203.0.113.7');
    expect(code).toBe(0);
    expect(stderr).toContain('is not an address of this machine: it is left out');
  });

  test('none that this machine has is an error', async () => {
    const { code, stderr } = await runWith('--listen-address', '203.0.113.7,203.0.113.8');
    expect([code, stderr]).toEqual([1, expect.stringContaining('is not an address of this machine')]);
  });

  test('a port that another address has is named', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const addresses = ['--listen-address', '127.0.0.2,127.0.0.1', '--http-port', String(port)];
    const { code, stderr } = await runCli(['run', '--app-id', 'a', ...addresses]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} is taken`)]);
  });

  test.each(['127.0.0.1,', 'a b'])('%j is refused', async (addresses) => {
    const { code, stderr } = await runHere(['run', '--app-id', 'a', '--listen-address', addresses]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--listen-address must be addresses')]);
  });
});

describe('flags behind a command', () => {
  test('without "--": one of ours is warned of, once', async () => {
    const { stderr } = await runCli([
      ...['run', '--app-id', 'a', '--http-port', '0', ...ENDS],
      ...['--app-port', '3000', '--app-port=1', '--other'],
    ]);
    expect(stderr.match(/--app-port comes behind the command and belongs to it/g)).toHaveLength(1);
  });

  test.each([[['--', ...ENDS, '--app-port', '3000']], [[...ENDS, '--other', '-p', '1', '--', '--app-port', '1']]])(
    'are let be in %j',
    async (rest) => {
      const { stderr } = await runCli(['run', '--app-id', 'a', '--http-port', '0', ...rest]);
      expect(stderr).not.toContain('behind the command');
    },
  );
});

describe('the environment', () => {
  test('APP_PROTOCOL is told to the command', async () => {
    const says = program('console.log("protocol=" + process.env.APP_PROTOCOL)');
    const http = await runCli(['run', '--app-id', 'a', '--http-port', '0', '--', ...says]);
    expect(http.stdout).toContain('protocol=http');
    const flags = ['--app-protocol', 'grpc', '--app-port', String(await freePort())];
    const grpc = await runCli(['run', '--app-id', 'a', '--http-port', '0', ...flags, '--', ...says]);
    expect(grpc.stdout).toContain('protocol=grpc');
  });

  test('OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are in the metrics', async () => {
    const port = await freePort();
    const env = { OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,team=caf%C3%A9, odd,=x' };
    const cli = startCli(['run', '--app-id', 'a', '--http-port', '0', '--metrics-port', String(port)], { env });
    await untilSaid(cli.stderr, 'sidecar at');
    const { text } = await send(`http://127.0.0.1:${port}`, 'GET', '/metrics');
    expect(text).toMatch(/^target_info\{service_name="shop",team="café"\} 1$/m);
  });
});

describe('POST /v1.0/shutdown with dapr-force-shutdown', () => {
  /** A command that never ends by itself, nor by SIGTERM. */
  const STUBBORN = program('process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000); console.log("up")');

  async function running(): Promise<{ cli: ReturnType<typeof startCli>; url: string }> {
    const port = await freePort();
    const args = ['run', '--app-id', 'a', '--http-port', String(port), '--graceful-shutdown-seconds', '600'];
    const cli = startCli([...args, '--', ...STUBBORN]);
    await untilSaid(cli.stdout, 'up');
    return { cli, url: `http://127.0.0.1:${port}` };
  }

  test('ends at once with exit code 1, though the command ignores SIGTERM', async () => {
    const { cli, url } = await running();
    const answer = await send(url, 'POST', '/v1.0/shutdown', { headers: { 'Dapr-Force-Shutdown': 'TRUE' } });
    expect(answer.status).toBe(204);
    expect(await cli.ended).toEqual([1, null]);
  });

  test('ends a stop that hangs', async () => {
    const { cli, url } = await running();
    expect((await send(url, 'POST', '/v1.0/shutdown')).status).toBe(204);
    await untilSaid(cli.stderr, 'shutdown was asked for');
    expect((await send(url, 'POST', '/v1.0/shutdown')).status).toBe(503);
    expect((await send(url, 'POST', '/v1.0/shutdown', { headers: { 'dapr-force-shutdown': '1' } })).status).toBe(204);
    expect(await cli.ended).toEqual([1, null]);
  });
});

describe('a multi-app file', () => {
  const run = async (more: string): Promise<{ code: number; stderr: string }> => {
    const directory = await temporaryDirectory();
    const file = join(directory, 'dapr.yaml');
    await writeFile(file, `version: 1\napps:\n- {appID: a, appDirPath: ., ${more}}\n`);
    return runHere(['run', '-f', file]);
  };

  test('a log level that there is not is an error', async () => {
    const { code, stderr } = await run('logLevel: loud');
    expect([code, stderr]).toEqual([1, expect.stringContaining('logLevel of a must be one of debug, info, warn')]);
  });

  test('a version in quotes is told so', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'dapr.yaml'), 'version: "1"\napps: [{appDirPath: .}]\n');
    const { stderr } = await runHere(['validate', directory]);
    expect(stderr).toContain('version is "1": expected 1, without quotes');
    expect(stderr).not.toContain('did you mean');
  });
});
