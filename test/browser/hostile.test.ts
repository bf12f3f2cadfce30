/** Names, data and errors that are HTML, script or addresses are shown as text. */
import { afterEach, describe, expect, test } from 'vitest';
import { hasChromium } from '../support/servers.ts';
import { Viewing } from './browser.ts';
import { World } from './world.ts';

const HTML = '<img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
const ADDRESS = 'javascript:globalThis.hit=1//';
const HOSTILE = [HTML, ADDRESS, '//evil.example/#/?x=1&y', '__proto__'];

describe.skipIf(!hasChromium())('what others wrote', () => {
  let world: World | undefined;
  afterEach(async () => world?.[Symbol.asyncDispose]());
  // After the world: hooks run in reverse, and a page must be closed before what it looks at.
  const viewing = new Viewing();

  test('is text on every page, and in no address that the page calls', async () => {
    world = await World.open({ inspect: { traceUrl: 'https://traces.example/{traceId}' } });
    const { shop } = world;
    shop.workflows.register(HTML, async () => {
      throw new Error(HTML);
    });
    const view = await viewing.open(world.url);
    await view.heads('Overview');
    await view.go('/messages', 'Messages');
    for (const [at, text] of HOSTILE.entries()) {
      await shop.pubsub.queues.addGroup({ pubsubName: 'pubsub', topic: text, group: 'shop/audit' });
      const event = { id: text, type: text, source: 's', subject: text };
      const data = { [text]: text, html: HTML };
      await shop.pubsub.publish('pubsub', text, data, { cloudEvent: event, trace: { traceparent: `00-${text}-1-01` } });
      await shop.jobs.schedule(`${at}${text.replaceAll(/[/#?]/g, '')}`, {
        schedule: '@yearly',
        data: { [text]: text },
      });
      await shop.state.set('carts', text, { [text]: text });
      await shop.locks.tryLock('locks', text, { ttl: '1h', owner: text });
      await shop.workflows.start(HTML, {
        input: { [text]: text },
        instanceId: `${at}-${text.replaceAll(/[/#?]/g, '')}`,
      });
    }
    await view.shows(ADDRESS);
    const pages = [
      ...[
        'messages',
        'queues',
        'dead-letters',
        'subscriptions',
        'jobs',
        'workflows',
        'stores',
        'stores/carts',
        'calls',
      ],
      ...['settings', ''],
    ];
    const visited = new Set<string>();
    for (const page of pages) {
      await view.page.evaluate(`location.hash = '#/${page}'`);
      await view.page.waitForTimeout(0);
      await view.heading.waitFor();
      const links = view.page.locator('main tbody a');
      if (['messages', 'queues', 'jobs', 'workflows', 'stores', 'stores/carts'].includes(page))
        await links.first().waitFor();
      for (const href of await links.evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))) {
        expect(href).toMatch(/^#\//);
        visited.add(href);
      }
    }
    expect(visited.size).toBeGreaterThan(8);
    for (const href of visited) {
      await view.page.evaluate(`location.hash = ${JSON.stringify(href)}`);
      await view.heading.waitFor();
      await view.page.locator('[aria-busy=true]').waitFor({ state: 'detached' });
    }
    expect(await view.page.evaluate('[globalThis.hit, document.scripts.length, document.images.length]')).toEqual([
      ...[undefined, 1, 0],
    ]);
    const foreign = 'a[href]:not([href^="#/"])';
    expect(await view.page.locator(foreign).evaluateAll((all) => all.map((one) => one.outerHTML))).toEqual([]);
  }, 60_000);
});
