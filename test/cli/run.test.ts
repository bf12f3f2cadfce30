import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { constants, hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { wantsColour } from '../../src/cli/output.ts';
import { embeddedState } from '../../src/components/embedded/index.ts';
import { systemClock } from '../../src/util/clock.ts';
import { freePort, listen, send } from '../support/http.ts';
import { RecordingLogger } from '../support/logger.ts';
import { flags, program, runCli, STAYS, startCli, temporaryDirectory, untilSaid } from './cli.ts';

describe('the command', () => {
  test('gets the app ID and the ports in its environment, and nothing of a gRPC API', async () => {
    const names = ['APP_ID', 'APP_PORT', 'DAPR_HTTP_PORT', 'SIDECAR_HTTP_PORT', 'DAPR_GRPC_PORT', 'MINE'];
    const code = `console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name] ?? null)))`;
    const args = await flags('--app-port', '3999', '--', ...program(code));
    const { stdout } = await runCli(args, { env: { DAPR_GRPC_PORT: '50001', MINE: 'mine' } });
    const port = args[4];
    expect(stdout).toBe(`orders    | ["orders","3999","${port}","${port}",null,"mine"]\n`);
  });

  test('needs no "--", and keeps flags of its own', async () => {
    const { stdout } = await runCli(
      await flags(process.execPath, '-e', 'console.log(process.argv.slice(1).join())', '--', '--app-id', 'x', '-p'),
    );
    expect(stdout).toBe('orders    | --app-id,x,-p\n');
  });

  test('is started without a shell', async () => {
    const { stdout } = await runCli(
      await flags('--', process.execPath, '-e', 'console.log(process.argv[1])', '$HOME; echo *'),
    );
    expect(stdout).toBe('orders    | $HOME; echo *\n');
  });

  test.each([0, 255])('ends with %i, and so does the run', async (code) => {
    expect((await runCli(await flags('--', ...program(`process.exit(${code})`)))).code).toBe(code);
  });

  test('ended by a signal: 128 and its number', async () => {
    const { code, stderr } = await runCli(await flags('--', ...program(`process.kill(process.pid, 'SIGKILL')`)));
    expect(code).toBe(128 + constants.signals.SIGKILL);
    expect(stderr).toContain('the command has ended by SIGKILL');
  });

  test('that is not there: 127', async () => {
    const { code, stderr } = await runCli(await flags('--', 'no-such-command'));
    expect(stderr).toContain('insidecar: the command "no-such-command" was not found\n');
    expect(code).toBe(127);
  });

  test('that may not be executed: 126', async () => {
    const file = join(await temporaryDirectory(), 'app.sh');
    await writeFile(file, '#!/bin/sh\n');
    await chmod(file, 0o600);
    const { code, stderr } = await runCli(await flags('--', file));
    expect(stderr).toContain('may not be executed');
    expect(code).toBe(126);
  });

  test('reads what is sent to the standard input', async () => {
    const cli = startCli(await flags('--', ...program('process.stdin.pipe(process.stdout)')));
    cli.child.stdin.end('hello\n');
    await cli.ended;
    expect(cli.stdout()).toBe('orders    | hello\n');
  });
});

describe('output', () => {
  test('goes where the command sends it, line by line with the app ID in front', async () => {
    const code = `process.stdout.write('one\\ntw'); process.stdout.write('o\\n\\nlast'); process.stderr.write('oh\\n')`;
    const { stdout, stderr } = await runCli(await flags('--', ...program(code)));
    expect(stdout).toBe('orders    | one\norders    | two\norders    | \norders    | last\n');
    expect(stderr).toContain('\norders    | oh\n');
  });

  test('is coloured when that is asked for, and not on a pipe', async () => {
    const args = await flags('--', ...program(`console.log('one')`));
    expect((await runCli(args, { env: { FORCE_COLOR: '1' } })).stdout).toBe('\u001b[36morders   \u001b[0m | one\n');
    expect(wantsColour(false, {})).toBe(false);
    expect(wantsColour(true, {})).toBe(true);
    expect(wantsColour(true, { NO_COLOR: '1', FORCE_COLOR: '1' })).toBe(false);
    expect(wantsColour(true, { FORCE_COLOR: '0' })).toBe(false);
    expect(wantsColour(true, { TERM: 'dumb' })).toBe(false);
  });

  test('of 50 MB in one line arrives whole, in pieces', async () => {
    const code = `
      const piece = Buffer.alloc(1024 * 1024, 'x');
      for (let count = 0; count < 50; count++) if (!process.stdout.write(piece)) await new Promise((go) => process.stdout.once('drain', go));`;
    const { stdout, code: exitCode } = await runCli(await flags('--', ...program(code)));
    expect(stdout.replaceAll(/orders {4}\| |\n/g, '').length).toBe(50 * 1024 * 1024);
    expect(exitCode).toBe(0);
  });

  test('that nobody reads holds up the command, not the sidecar', async () => {
    const code = `
      process.stderr.write('started\\n');
      let count = 0;
      const more = () => { while (process.stdout.write('x'.repeat(99) + '\\n')) count++; process.stdout.once('drain', more); };
      more();
      setInterval(() => process.stderr.write('count ' + count + '\\n'), 100);`;
    const args = await flags('--', ...program(code));
    const cli = startCli(args);
    cli.child.stdout.pause();
    await untilSaid(cli.stderr, /count (\d+)\n.*count \1\n/s);
    const answer = await send(`http://127.0.0.1:${args[4]}`, 'GET', '/v1.0/healthz');
    expect(answer.status).toBe(204);
    const [, stuckAt] = /count (\d+)\n(?:.*\n)?.*count \1\n/.exec(cli.stderr()) ?? [];
    expect(Number(stuckAt) * 100).toBeLessThan(8 * 1024 * 1024);
  });

  test('whose reader goes away ends the run', async () => {
    const cli = startCli(await flags('--', ...program(`setInterval(() => console.log('tick'), 10)`)));
    await untilSaid(cli.stdout, 'tick');
    cli.child.stdout.destroy();
    expect((await cli.ended)[0]).not.toBe(0);
  });

  test('of the sidecar is JSON unless on a terminal', async () => {
    const args = (await flags('--', ...program(''))).filter((flag) => flag !== '--log-json=false');
    const { stderr } = await runCli(args);
    const entries = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries.length).toBeGreaterThan(2);
    for (const entry of entries)
      expect(entry).toEqual({
        ...entry,
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        app_id: expect.stringMatching(/^(orders|insidecar)$/),
        msg: expect.any(String),
        type: 'log',
        scope: 'insidecar',
        instance: hostname(),
        ver: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      });
  });

  test('of the sidecar is left out below the log level', async () => {
    const { stderr } = await runCli(await flags('--log-level', 'warn', '--', ...program('')));
    expect(stderr).toBe('');
  });
});

describe('a signal', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s goes to the command; its exit code counts',
    async (signal) => {
      const code = `process.on('${signal}', () => { console.log('bye'); process.exit(7); }); ${STAYS}`;
      const cli = startCli(await flags('--', ...program(code)));
      await untilSaid(cli.stdout, 'pid');
      cli.child.kill(signal);
      expect(await cli.ended).toEqual([7, null]);
      expect(cli.stdout()).toContain('orders    | bye\n');
    },
  );

  test('a command that ends by the signal: 128 and its number', async () => {
    const cli = startCli(await flags('--', ...program(STAYS)));
    await untilSaid(cli.stdout, 'pid');
    cli.child.kill('SIGTERM');
    expect(await cli.ended).toEqual([128 + constants.signals.SIGTERM, null]);
  });
});

describe('what goes wrong', () => {
  test('a port that is taken is named, with who has it', async () => {
    await using server = await listen(() => undefined);
    const { code, stderr } = await runCli(['run', '--app-id', 'orders', '--http-port', String(server.port)]);
    expect(stderr).toContain(`insidecar: port ${server.port} is taken`);
    if (process.platform === 'linux') expect(stderr).toContain(`by process ${process.pid} (`);
    expect(stderr).toContain('another can be chosen with --http-port');
    expect(code).toBe(1);
  });

  test('a free port is taken when 3500 is not, as the command is told which', async () => {
    const blocker = createServer().on('error', () => undefined);
    blocker.listen(3500, '127.0.0.1');
    const code = 'console.log(process.env.DAPR_HTTP_PORT)';
    const { stdout, stderr } = await runCli(['run', '--app-id', 'a', '--log-json=false', '--', ...program(code)]);
    blocker.close();
    expect(stderr).toMatch(/port 3500 is taken.*: taking a free one/);
    expect(Number(stdout.split('| ')[1])).toBeGreaterThan(0);
    expect(stdout).not.toContain('3500');
  });

  test('an application that takes no requests is warned about, with its port', async () => {
    const port = await freePort();
    const cli = startCli(await flags('--app-port', String(port), '--app-start-timeout', '1', '--', ...program(STAYS)));
    await untilSaid(
      cli.stderr,
      `the application takes no requests at 127.0.0.1:${port} after 1 s: does it listen on that port, and is it healthy?`,
    );
  });

  test('--delivery-timeout and --job-timeout limit the time of the application, and the log says so', async () => {
    const port = await freePort();
    const app = `
      import { createServer } from 'node:http';
      const subscriptions = JSON.stringify([{ pubsubname: 'pubsub', topic: 'orders', route: '/on-order' }]);
      createServer((req, res) => {
        if (req.url === '/dapr/subscribe') res.end(subscriptions);
        else if (!/on-order|job/.test(req.url)) res.end();
      }).listen(${port}, '127.0.0.1');
      const api = 'http://127.0.0.1:' + process.env.DAPR_HTTP_PORT;
      const post = (path, body) => fetch(api + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      setTimeout(() => Promise.all([post('/v1.0/publish/pubsub/orders', '1'), post('/v1.0/jobs/report', '{"dueTime":"0s"}')]), 300);`;
    const limits = ['--delivery-timeout', '300ms', '--job-timeout', '400ms', '--log-json'];
    const cli = startCli(await flags('--app-port', String(port), ...limits, '--', ...program(app)));
    await untilSaid(cli.stderr, /no answer within 300 ms","remedy":"the limit is deliveryTimeout/);
    await untilSaid(cli.stderr, /no answer within 400 ms","remedy":"the limit is jobs\.timeout/);
  });

  test('an application whose port somebody else has is warned about', async () => {
    await using server = await listen((_req, res) => res.writeHead(404).end());
    const { stderr } = await runCli(await flags('--app-port', String(server.port), '--', ...program('')));
    expect(stderr).toMatch(new RegExp(`port ${server.port} is taken.* before the application has started`));
  });

  test('a state directory that is in use is named', async () => {
    const path = await temporaryDirectory();
    const state = embeddedState({ path, exclusive: true });
    await using _held = await state.open({ clock: systemClock, logger: new RecordingLogger() });
    const { code, stderr } = await runCli(await flags('--state-path', path));
    expect(stderr).toMatch(new RegExp(`insidecar: .*${path}.* is in use`));
    expect(stderr).not.toContain('    at ');
    expect(code).toBe(1);
  });
});

test('what was published with --state-path is delivered after a restart', async () => {
  const path = await temporaryDirectory();
  const [httpPort, appPort] = [String(await freePort()), String(await freePort())];
  const app = (status: number): readonly string[] =>
    program(`
      import { createServer } from 'node:http';
      createServer((req, res) => {
        if (req.url === '/dapr/subscribe') return res.end('[{"pubsubname":"pubsub","topic":"orders","route":"/orders"}]');
        if (req.method === 'GET') return res.writeHead(404).end();
        let body = '';
        req.on('data', (part) => { body += part; });
        req.on('end', () => { console.log('received', JSON.parse(body).data, 'answering', ${status}); res.writeHead(${status}).end(); });
      }).listen(${appPort}, '127.0.0.1')`);
  const args = ['run', '--app-id', 'a', '--app-port', appPort, '--http-port', httpPort, '--state-path', path, '--'];
  const first = startCli([...args, ...app(503)]);
  await untilSaid(first.stderr, 'the application is ready');
  await send(`http://127.0.0.1:${httpPort}`, 'POST', '/v1.0/publish/pubsub/orders', { body: 'order 1' });
  await untilSaid(first.stdout, 'received order 1 answering 503');
  first.child.kill('SIGTERM');
  await first.ended;
  const second = startCli([...args, ...app(200)]);
  await untilSaid(second.stdout, 'received order 1 answering 200');
  expect(second.stdout()).not.toContain('503');
});
