// One host of an application with actors, until it is stopped or killed. Tells its port to its parent, and writes to the
// file that all hosts share, in one write each, so that the lines are in the order in which things happened:
//   <host> T <actor> <count>   a turn has counted so far
//   <host> B <actor> <name>    a tick begins
//   <host> E <actor> <name>    a tick ends well
//   <host> D <actor>           the actor is deactivated
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { Actor, nodeHandler, runUntilSignal, Sidecar } from 'insidecar';
import { postgresqlState } from 'insidecar/postgresql';
import { redisState } from 'insidecar/redis';

const { name: host, url, log } = JSON.parse(process.env.ACTORS_HOST);
const file = openSync(log, 'a');
const say = (...words) => writeSync(file, `${[host, ...words].join(' ')}\n`);
const never = new Promise(() => undefined);

class Counter extends Actor {
  add() {
    const count = (this.state.count ?? 0) + 1;
    this.state.count = count;
    say('T', this.id, count);
    return count;
  }

  async onReminder(name, data) {
    say('B', this.id, name);
    if (data?.hangsAt === host) await never;
    say('E', this.id, name);
  }

  onTimer(name, data) {
    return this.onReminder(name, data);
  }

  onDeactivate() {
    say('D', this.id);
  }
}

const peers = createServer();
const api = createServer();
for (const server of [peers, api]) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const sidecar = new Sidecar({
  appId: 'shop',
  state: url.startsWith('redis') ? redisState({ url }) : postgresqlState({ url }),
  identity: { keys: [{ secret: 'a secret of the tests, of more than 32 bytes' }] },
  address: `http://127.0.0.1:${peers.address().port}`,
  logger: { debug() {}, info() {}, warn() {}, error: (details, message) => console.error(message, details) },
});
sidecar.actors.register(Counter);
peers.on('request', nodeHandler(sidecar.peers));
api.on('request', nodeHandler(sidecar));
await sidecar.start();
process.send({ port: api.address().port });
process.on('disconnect', () => process.exit());
await runUntilSignal(sidecar, peers, api);
process.exit();
