/** A proxy in front of a server, until its parent disconnects. Usage: `delay-worker.ts <port> <delay in ms>`. */
import { TcpProxy } from '../../test/support/tcp-proxy.ts';

const [target, delayMs] = process.argv.slice(2).map(Number);
const proxy = await TcpProxy.start(target ?? 0);
proxy.delayMs = delayMs ?? 0;
process.on('disconnect', () => process.exit());
process.send?.(proxy.port);
