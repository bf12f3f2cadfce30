// One process of an application whose actors are those of the package @dapr/dapr, with its sidecar, until it is stopped or
// killed. Tells the port of its API to its parent, and then what happens to its actors, a line each.
import { createServer } from 'node:http';
import { AbstractActor, CommunicationProtocolEnum, DaprServer, Temporal } from '@dapr/dapr';
import { nodeHandler, runUntilSignal, Sidecar } from 'insidecar';
import { embeddedState } from 'insidecar/embedded';

const { name, path, appPort } = JSON.parse(process.env.ACTORS_SERVER);
const say = (what, actor) => process.send(`${name} ${what} ${actor.getActorId().getId()}`);
const none = () => undefined;
const silent = { error: none, warn: none, info: none, verbose: none, debug: none };
const TENTH = Temporal.Duration.from({ milliseconds: 100 });

class Counter extends AbstractActor {
  #isIn = false;

  async add(amount) {
    if (this.#isIn) throw new Error('two turns at once');
    this.#isIn = true;
    const next = (await this.get()) + amount;
    await this.getStateManager().setState('count', next);
    await this.getStateManager().saveState();
    this.#isIn = false;
    return next;
  }

  async get() {
    const [has, value] = await this.getStateManager().tryGetState('count');
    return has ? value : 0;
  }

  async where() {
    return name;
  }

  async begin(kind) {
    if (kind === 'timer') await this.registerActorTimer('ticks', 'onTick', TENTH, TENTH);
    else await this.registerActorReminder('ticks', TENTH, TENTH);
  }

  async end(kind) {
    if (kind === 'timer') await this.unregisterActorTimer('ticks');
    else await this.unregisterActorReminder('ticks');
  }

  async onTick() {
    say('timer', this);
  }

  async receiveReminder() {
    say('reminder', this);
  }

  async onActivate() {
    say('active', this);
  }

  async onDeactivate() {
    say('inactive', this);
  }
}

const peers = createServer();
const api = createServer();
for (const server of [peers, api]) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const sidecar = new Sidecar({
  appId: 'counters',
  wire: 'dapr',
  app: { port: appPort },
  state: embeddedState({ path }),
  identity: { keys: [{ secret: 'a secret of the tests, of more than 32 bytes' }] },
  address: `http://127.0.0.1:${peers.address().port}`,
  logger: { debug: none, info: none, warn: none, error: (details, message) => console.error(message, details) },
});
peers.on('request', nodeHandler(sidecar.peers));
api.on('request', nodeHandler(sidecar));
const server = new DaprServer({
  ...{ serverHost: '127.0.0.1', serverPort: String(appPort), communicationProtocol: CommunicationProtocolEnum.HTTP },
  clientOptions: { daprHost: '127.0.0.1', daprPort: String(api.address().port), logger: { service: silent } },
  logger: { service: silent },
});
await server.actor.init();
await server.actor.registerActor(Counter);
await sidecar.start();
await server.start();
await sidecar.ready();
process.send({ port: api.address().port });
process.on('disconnect', () => process.exit());
await runUntilSignal(sidecar, peers, api);
process.exit();
