// A process that publishes for others, for tests in which it dies between the broker's confirmation and its own answer:
// publisher-death.ts. It tells its port.
import { createServer } from 'node:http';
import { nodeHandler, Sidecar } from '../../dist/index.mjs';

const { entry, factory, options, diesConfirmed } = JSON.parse(process.argv[2]);
const { [factory]: makePubSub } = await import(`../../dist/${entry}.mjs`);
const definition = makePubSub('pubsub', options);

/** The component, whose confirmations this process does not survive. */
async function open(context) {
  const component = await definition.open(context);
  const publish = async (messages) => {
    const failures = await component.publish(messages);
    if (diesConfirmed && failures.length === 0) process.kill(process.pid, 'SIGKILL');
    return failures;
  };
  return { publish, subscribe: (wanted) => component.subscribe(wanted), close: () => component.close() };
}

const sidecar = new Sidecar({ appId: 'publisher', components: [{ ...definition, open }] });
await sidecar.start();
const server = createServer(nodeHandler(sidecar));
server.listen(0, '127.0.0.1', () => process.stdout.write(`port ${server.address().port}\n`));
