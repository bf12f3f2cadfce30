// State on disk, the same program for require(); embedded.mjs hands in what it imported. Says what happened: a message
// that was kept over a restart, or why the state directory could not be opened.
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

exports.embeddedSmoke = async ({ durablePubSub, embeddedState, isStateError, Sidecar }) => {
  const path = mkdtempSync(join(tmpdir(), 'insidecar-smoke-'));
  const open = async () => {
    const state = embeddedState({ path });
    const sidecar = new Sidecar({ appId: 'smoke', components: [durablePubSub('pubsub')], state, logger: quiet });
    await sidecar.start();
    return sidecar;
  };
  try {
    const before = await open();
    const subscription = await before.pubsub.subscribe('pubsub', 'orders', () => undefined);
    await subscription.close();
    await before.pubsub.publish('pubsub', 'orders', { id: 1 });
    await before.stop();
    const after = await open();
    const received = new Promise((resolve) => {
      void after.pubsub.subscribe('pubsub', 'orders', (event) => resolve(event.data.id));
    });
    const id = await received;
    await after.stop();
    return `kept order ${id} over a restart`;
  } catch (error) {
    if (!isStateError(error)) throw error;
    return `${error.kind}: ${error.message}`;
  } finally {
    rmSync(path, { recursive: true });
  }
};

if (require.main === module) {
  const { durablePubSub, isStateError, Sidecar } = require('insidecar');
  const { embeddedState } = require('insidecar/embedded');
  exports
    .embeddedSmoke({ durablePubSub, embeddedState, isStateError, Sidecar })
    .then((what) => console.log(`require on Node ${process.version}: ${what}`));
}
