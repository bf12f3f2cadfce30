/** Ten thousand messages a second freeze neither the page nor the sidecar. `measure-load.ts` has the figures. */
import { describe, expect, test } from 'vitest';
import { hasChromium } from '../support/servers.ts';
import { Viewing } from './browser.ts';
import { Load } from './load.ts';

/** Other tests share the processors: what is wrong with the page is wrong each time. */
const ROUNDS = 5;
const SECONDS = 2;

describe.skipIf(!hasChromium())('load', () => {
  const viewing = new Viewing();

  test('the page and the sidecar stay quick', async () => {
    await using load = await Load.open();
    const view = await viewing.open(load.url);
    await view.heads('Messages');
    const rounds: object[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await view.page.keyboard.press('p');
      await view.shows('paused', view.page.locator('header.top'));
      const alone = await load.run(SECONDS);
      await view.page.keyboard.press('p');
      await view.page.locator('header.top .live.open').waitFor();
      const watched = await load.run(SECONDS, view);
      await view.shows(/changes skipped/);
      const longest = Math.max(0, ...watched.longTasks);
      rounds.push({ longest, alone: alone.loopDelay.p99, watched: watched.loopDelay.p99, rate: watched.perSecond });
      const isPageQuick = longest < 150;
      const isSidecarQuick = watched.loopDelay.p99 < 2 * alone.loopDelay.p99 + 10;
      if (isPageQuick && isSidecarQuick && watched.perSecond > 5_000) return;
    }
    expect(rounds, 'in no round was all well').toEqual([]);
  }, 60_000);
});
