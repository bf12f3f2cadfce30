import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { chromiumPath } from '../support/servers.ts';

/** Nothing that calls home, and nothing that needs a screen. */
const ARGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How long to wait for what must come: other tests may keep the machine busy. */
const PATIENCE_MS = 15_000;

/** What the page is told before its own code runs: the browser tells of refused sources by an event only. */
const TELL_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI));`;

export function openBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error('there is no Chromium');
  return chromium.launch({ executablePath, args: [...ARGS, ...more] });
}

export interface ViewOptions extends BrowserContextOptions {
  /** Whether it stays open until the end of the file. */
  readonly isKept?: boolean;
  /** See {@link View.expects}. */
  readonly expects?: RegExp;
}

/** A page of the inspector as somebody sees it, and what is wrong with it. */
export class View {
  readonly page: Page;
  /** Errors, refused sources, requests to other origins. */
  readonly problems: string[] = [];
  /** Console errors that are none: those of responses that are refused. Until the end of the test. */
  expects: RegExp | undefined;

  constructor(page: Page, url: string, expects?: RegExp) {
    this.page = page;
    this.expects = expects;
    const { origin } = new URL(url);
    page.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && this.expects?.test(text) !== true) this.problems.push(text);
    });
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
        this.problems.push(`a request to ${request.url()}`);
    });
  }

  /** The heading of the page that is shown. */
  get heading(): Locator {
    return this.page.locator('main h1');
  }

  /** Goes to a page by its address, such as `/jobs`, without loading everything again. */
  async go(hash: string, heading: string | RegExp): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#${hash}`)}`);
    await this.heads(heading);
  }

  /** Waits for a page by its heading. */
  async heads(heading: string | RegExp): Promise<void> {
    await this.heading.filter({ hasText: heading }).waitFor();
  }

  /** Waits until the page shows a text. */
  async shows(text: string | RegExp, inside: Locator = this.page.locator('body')): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const shown = (await inside.allInnerTexts()).join('\n');
      if (typeof text === 'string' ? shown.includes(text) : text.test(shown)) return;
      if (performance.now() > deadline) throw new Error(`the page does not show ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  /** A field of the dialog that is open. */
  field(label: string): Locator {
    return this.dialog.getByLabel(label, { exact: true });
  }

  button(name: string | RegExp, inside: Locator = this.page.locator('body')): Locator {
    return inside.getByRole('button', { name });
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** The row of a table that has a text. */
  row(text: string | RegExp): Locator {
    return this.page.locator('main tbody tr').filter({ hasText: text });
  }

  /** What the address bar shows after `#`. */
  get hash(): string {
    return new URL(this.page.url()).hash;
  }
}

/** Waits until something holds in the page or behind it. */
export function until<T>(what: () => T | Promise<T>): ReturnType<typeof expect.poll<T>> {
  return expect.poll(what, { timeout: PATIENCE_MS, interval: 30 });
}

/** The browser of a test file. What a test has opened is closed after it, and must have had no problems. */
export class Viewing {
  #browser: Browser | undefined;
  readonly #open: View[] = [];
  readonly #kept: View[] = [];

  constructor() {
    beforeAll(async () => {
      this.#browser = await openBrowser();
    }, 60_000);
    afterAll(() => this.#browser?.close());
    afterEach(async ({ task }) => {
      const views = [...this.#kept, ...this.#open.splice(0)];
      if (task.result?.state === 'fail') for (const view of views) await tell(task.name, view);
      const problems = views.flatMap((view) => view.problems.splice(0));
      for (const view of views) view.expects = undefined;
      for (const view of views) if (!this.#kept.includes(view)) await view.page.context().close();
      expect(problems).toEqual([]);
    });
  }

  /** Opens an address in a browser window of its own. */
  async open(url: string, { expects, isKept = false, ...options }: ViewOptions = {}): Promise<View> {
    if (this.#browser === undefined) throw new Error('the browser has not been started');
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    await context.addInitScript(TELL_VIOLATIONS);
    const view = new View(await context.newPage(), url, expects);
    (isKept ? this.#kept : this.#open).push(view);
    await view.page.goto(url, { waitUntil: 'domcontentloaded' });
    return view;
  }
}

/** What a page showed when its test failed. */
async function tell(test: string, { page, problems }: View): Promise<void> {
  const text = await page.locator('body').allInnerTexts();
  process.stderr.write(`${test}: ${page.url()}\n${[...problems, ...text].join('\n')}\n`);
}

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** What keeps people from using the page as it is now, by the rules of axe. */
export async function barriers({ page }: View): Promise<readonly string[]> {
  // Not as an element: the page's policy would have to be turned off, and it is tested as well.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(await axe);
  const { violations } = await page.evaluate<AxeResults>('axe.run(document, { resultTypes: ["violations"] })');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
