/**
 * Measures what it costs a sidecar to be looked at while it delivers 10,000 messages a second, and what it costs the
 * page. Run with `npm run build && npx tsx test/browser/measure-load.ts [seconds] [rounds]` where nothing else runs.
 */
import { openBrowser, View } from './browser.ts';
import { type Figures, Load, MESSAGES_PER_SECOND } from './load.ts';

const [seconds = 5, rounds = 3] = process.argv.slice(2).map(Number);

function line(what: string, { perSecond, loopDelay: { p50, p99, max }, cpuShare, longTasks }: Figures): string {
  const delays = [p50, p99, max].map((ms) => ms.toFixed(1).padStart(6)).join(' ');
  const tasks = longTasks.length === 0 ? 'none' : `${longTasks.length}, longest ${Math.max(...longTasks)}`;
  const cpu = `${(cpuShare * 100).toFixed(0)} %`;
  return `${what.padEnd(12)} ${perSecond.toFixed(0).padStart(9)} ${delays} ${cpu.padStart(6)}   ${tasks}`;
}

const tell = (text: string): void => void process.stdout.write(`${text}\n`);
const browser = await openBrowser();

/** Another sidecar each time: one that was looked at goes on recording for some minutes. */
async function measure(what: string, hash?: string): Promise<void> {
  await using load = await Load.open();
  const page = await browser.newPage();
  const view = hash === undefined ? undefined : new View(page, load.url);
  if (hash !== undefined) {
    await page.goto(`${new URL(load.url).origin}/#${hash}`);
    await page.locator('header.top .live.open').waitFor();
  }
  await load.run(2);
  tell(line(what, await load.run(seconds, view)));
  await page.close();
}

tell(`${MESSAGES_PER_SECOND} messages a second, ${seconds} s each after 2 s`);
tell('             delivered/s  loop delay p50, p99, max (ms)  CPU   tasks of the page over 50 ms');
for (let round = 0; round < rounds; round++) {
  await measure('nobody looks');
  await measure('messages', '/messages');
  await measure('overview', '/');
}
await browser.close();
