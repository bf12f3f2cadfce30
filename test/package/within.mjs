// node within.mjs <seconds> <command> [argument …]: runs a command; after so many seconds it ends it with all that it has
// started, which npm does not do when it is told to end while it waits for the registry, and exits with 124.
import { spawn } from 'node:child_process';

const [seconds, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: 'inherit', detached: true });
const timer = setTimeout(() => {
  console.error(`${command} ${args.join(' ')}: still not done after ${seconds} s`);
  process.kill(-child.pid, 'SIGKILL');
  process.exitCode = 124;
}, Number(seconds) * 1_000);
child.on('error', ({ message }) => {
  clearTimeout(timer);
  console.error(message);
  process.exitCode = 1;
});
child.on('exit', (code) => {
  clearTimeout(timer);
  process.exitCode ??= code ?? 1;
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.kill(-child.pid, 'SIGKILL'));
