import { readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { describe, expect, test } from 'vitest';
import { freePort, listen, send } from '../support/http.ts';
import { flags, isRunning, PATIENCE, program, STAYS, startCli, untilSaid } from './cli.ts';

const pidIn = (text: string): number => Number(/pid (\d+)/.exec(text)?.[1]);

describe('stopping', () => {
  test('without a command: 0', async () => {
    const cli = startCli(await flags());
    await untilSaid(cli.stderr, 'sidecar at');
    cli.child.kill('SIGINT');
    expect(await cli.ended).toEqual([0, null]);
  });

  test('the sidecar answers for as long as the command takes to end', async () => {
    const code = `
      process.on('SIGTERM', async () => {
        const { status } = await fetch('http://127.0.0.1:' + process.env.DAPR_HTTP_PORT + '/v1.0/publish/pubsub/last', { method: 'POST', body: 'x' });
        console.log('published', status);
        process.exit(0);
      });
      ${STAYS}`;
    const cli = startCli(await flags('--', ...program(code)));
    await untilSaid(cli.stdout, 'pid');
    cli.child.kill('SIGTERM');
    expect(await cli.ended).toEqual([0, null]);
    expect(cli.stdout()).toContain('published 204');
  });

  test('a second signal kills', async () => {
    const cli = startCli(await flags('--', ...program(`process.on('SIGINT', () => console.log('no')); ${STAYS}`)));
    await untilSaid(cli.stdout, 'pid');
    cli.child.kill('SIGINT');
    await untilSaid(cli.stdout, '| no');
    cli.child.kill('SIGINT');
    expect(await cli.ended).toEqual([128 + constants.signals.SIGKILL, null]);
    expect(isRunning(pidIn(cli.stdout()))).toBe(false);
  });

  test('a command that does not end in time is killed', async () => {
    const more = ['--graceful-shutdown-seconds', '1', '--'];
    const cli = startCli(await flags(...more, ...program(`process.on('SIGTERM', () => {}); ${STAYS}`)));
    await untilSaid(cli.stdout, 'pid');
    cli.child.kill('SIGTERM');
    expect((await cli.ended)[0]).toBe(128 + constants.signals.SIGKILL);
    expect(cli.stderr()).toContain('killing commands that are still running');
  });

  test('what the command started ends with it', async () => {
    const code = `
      import { spawn } from 'node:child_process';
      const child = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); console.log('pid', process.pid); setInterval(() => {}, 1000)"], { stdio: 'inherit' });
      process.on('SIGUSR2', () => process.exit(0));
      console.log('parent', process.pid);`;
    const cli = startCli(await flags('--', ...program(code)));
    await untilSaid(cli.stdout, /pid \d+/);
    await untilSaid(cli.stdout, /parent \d+/);
    process.kill(Number(/parent (\d+)/.exec(cli.stdout())?.[1]), 'SIGUSR2');
    expect(await cli.ended).toEqual([0, null]);
    await expect.poll(() => isRunning(pidIn(cli.stdout())), PATIENCE).toBe(false);
  });

  test('kill -9 of the run leaves no command and nothing that it started', async () => {
    const code = `
      import { spawn } from 'node:child_process';
      spawn(process.execPath, ['-e', "console.log('grandchild', process.pid); setInterval(() => {}, 1000)"], { stdio: 'inherit' });
      process.on('SIGTERM', () => {}); ${STAYS}`;
    const cli = startCli(await flags('--', ...program(code)));
    await untilSaid(cli.stdout, /pid \d+/);
    await untilSaid(cli.stdout, /grandchild \d+/);
    const pids = [pidIn(cli.stdout()), Number(/grandchild (\d+)/.exec(cli.stdout())?.[1])];
    expect(pids.map(isRunning)).toEqual([true, true]);
    cli.child.kill('SIGKILL');
    await expect.poll(() => pids.map(isRunning), PATIENCE).toEqual([false, false]);
  });

  test.runIf(process.platform === 'linux')('a run without a command starts no process', async () => {
    const cli = startCli(await flags());
    await untilSaid(cli.stderr, 'sidecar at');
    expect(await readFile(`/proc/${cli.child.pid}/task/${cli.child.pid}/children`, 'utf8')).toBe('');
  });

  test('POST /v1.0/shutdown stops the command, then the run', async () => {
    const args = await flags('--', ...program(`process.on('SIGTERM', () => process.exit(0)); ${STAYS}`));
    const cli = startCli(args);
    await untilSaid(cli.stdout, 'pid');
    expect((await send(`http://127.0.0.1:${args[4]}`, 'POST', '/v1.0/shutdown')).status).toBe(204);
    expect(await cli.ended).toEqual([0, null]);
  });
});

/** An application that streams: the beginning at once, the end when it is told to by another request. */
const streaming = (port: number): readonly string[] =>
  program(`
    import { createServer } from 'node:http';
    let end = () => {};
    createServer((req, res) => {
      if (req.url === '/stream') { res.write('begun, '); end = () => res.end('ended'); }
      else { if (req.url === '/end') end(); res.writeHead(req.url === '/end' ? 200 : 404).end(); }
    }).listen(${port}, '127.0.0.1', () => console.log('pid', process.pid));`);

/** A stream through the sidecar, of which the beginning has come. */
async function streamThrough(url: string): Promise<{ readonly rest: Promise<string> }> {
  const response = await fetch(`${url}/v1.0/invoke/orders/method/stream`);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = String(Buffer.from((await reader.read()).value ?? []));
  const rest = (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += Buffer.from(value).toString();
    }
  })();
  rest.catch(() => undefined);
  return { rest };
}

describe('stopping while an answer is being streamed', () => {
  test('lets it end before the command is asked to', async () => {
    const port = await freePort();
    const args = await flags('--app-port', String(port), '--', ...streaming(port));
    const cli = startCli(args);
    await untilSaid(cli.stdout, 'pid');
    await untilSaid(cli.stderr, 'the application is ready');
    const { rest } = await streamThrough(`http://127.0.0.1:${args[4]}`);
    cli.child.kill('SIGTERM');
    await untilSaid(cli.stderr, 'waiting for answers in flight');
    await fetch(`http://127.0.0.1:${port}/end`);
    expect(await rest).toBe('begun, ended');
    expect(await cli.ended).toEqual([128 + constants.signals.SIGTERM, null]);
  });

  test('breaks it off for its caller to see when half of the time is over', async () => {
    const port = await freePort();
    const more = ['--app-port', String(port), '--graceful-shutdown-seconds', '1', '--'];
    const args = await flags(...more, ...streaming(port));
    const cli = startCli(args);
    await untilSaid(cli.stderr, 'the application is ready');
    const { rest } = await streamThrough(`http://127.0.0.1:${args[4]}`);
    cli.child.kill('SIGTERM');
    await expect(rest).rejects.toThrow();
    expect(await cli.ended).toEqual([128 + constants.signals.SIGTERM, null]);
  });

  test('waits for an application that was started elsewhere, too', async () => {
    let end = (): void => undefined;
    await using app = await listen((req, res) => {
      if (!req.url?.includes('stream')) return void res.writeHead(404).end();
      res.write('begun, ');
      end = () => void res.end('ended');
    });
    const args = await flags('--app-port', String(app.port));
    const cli = startCli(args);
    await untilSaid(cli.stderr, 'the application is ready');
    const { rest } = await streamThrough(`http://127.0.0.1:${args[4]}`);
    cli.child.kill('SIGTERM');
    await expect
      .poll(async () => (await send(`http://127.0.0.1:${args[4]}`, 'GET', '/v1.0/metadata')).status, PATIENCE)
      .toBe(503);
    end();
    expect(await rest).toBe('begun, ended');
    expect(await cli.ended).toEqual([0, null]);
  });
});
