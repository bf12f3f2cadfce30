/** A thousand activities, twenty at a time. Run with `npx tsx examples/tasks/7-fan-out.ts`. */
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';

let running = 0;
let most = 0;
const resize = defineActivity('resize', async (image: number) => {
  most = Math.max(most, ++running);
  await new Promise((resolve) => setTimeout(resolve, 1));
  running--;
  return image * 2;
});
const gallery = defineWorkflow('gallery', async (ctx, images: readonly number[]) => {
  const sizes = await ctx.map(images, (image) => ctx.callActivity(resize, image), { concurrency: 20 });
  return sizes.reduce((sum, size) => sum + size, 0);
});

const sidecar = new Sidecar({ appId: 'gallery' });
sidecar.register(gallery, resize);
await sidecar.start();
const images = Array.from({ length: 1_000 }, (_image, index) => index);
const run = await sidecar.workflows.start(gallery, images);
console.log(`sum ${await run.result()}, at most ${most} at a time`);
await sidecar.stop();
