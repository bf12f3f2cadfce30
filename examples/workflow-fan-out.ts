/**
 * Fan out, fan in: the words of many pages are counted side by side, each page by an activity of its own, and summed up
 * when all are there. Run with `npx tsx examples/workflow-fan-out.ts`.
 */
import { defineActivity, defineWorkflow, Sidecar } from 'insidecar';

type Counts = Readonly<Record<string, number>>;

const countWords = defineActivity('countWords', async (page: string): Promise<Counts> => {
  const counts: Record<string, number> = {};
  for (const word of page.split(' ')) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
});

const countAll = defineWorkflow('countAll', async (ctx, pages: readonly string[]) => {
  const counted = await Promise.all(pages.map((page) => ctx.callActivity(countWords, page)));
  const total = new Map<string, number>();
  for (const counts of counted)
    for (const [word, count] of Object.entries(counts)) total.set(word, (total.get(word) ?? 0) + count);
  return [...total].sort(([, a], [, b]) => b - a);
});

const sidecar = new Sidecar({ appId: 'library' });
sidecar.workflows.register(countAll, countWords);
await sidecar.start();

const pages = Array.from({ length: 1_000 }, (_, page) => (page % 2 === 0 ? 'call me Ishmael' : 'call me later'));
const startedAt = performance.now();
const run = await sidecar.workflows.start(countAll, pages);
const counts = await run.result();
console.log(`${pages.length} pages in ${Math.round(performance.now() - startedAt)} ms:`, counts);
await sidecar.stop();
