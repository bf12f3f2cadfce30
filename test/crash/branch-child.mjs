// A workflow with a branch that no code waits for, and that fails: by its task, or by an error of its own.
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';

const [, , way] = process.argv;
const sidecar = new Sidecar({ appId: 'crash' });
const boom = defineActivity('boom', () => {
  if (way === 'task') throw new Error('no stock');
});
const flow = defineWorkflow('flow', async (ctx) => {
  const audit = async () => {
    await ctx.callActivity(boom);
    throw new TypeError('an error of its own');
  };
  void audit();
  await ctx.sleep('1h');
});
sidecar.workflows.register(flow, boom);
await sidecar.start();
const run = await sidecar.workflows.start(flow, undefined, { instanceId: 'order-7' });
const { status } = await run.ended();
process.stdout.write(`${status}\n`);
await sidecar.stop();
