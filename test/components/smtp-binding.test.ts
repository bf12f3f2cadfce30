import { describe, expect, onTestFinished, test } from 'vitest';
import { loadNodemailer } from '../../src/components/smtp/driver.ts';
import { type SmtpBindingOptions, smtpBinding } from '../../src/components/smtp/index.ts';
import { type BindingsWorld, bindingsWorld } from '../support/bindings-world.ts';
import { freePort } from '../support/http.ts';
import { type MailRules, MailServer } from '../support/mail-server.ts';
import { WIRES } from '../support/stores-world.ts';

const errorOf = (text: string): { readonly errorCode: string; readonly message: string } => JSON.parse(text) as never;
const FROM = 'shop@shop.example';
const MAIL = { emailFrom: FROM, emailTo: 'a@b.example', subject: 'Hello' };

async function withServer(
  rules: MailRules = {},
  options: Partial<SmtpBindingOptions> = {},
  wire: 'sidecar' | 'dapr' = 'sidecar',
): Promise<{ readonly world: BindingsWorld; readonly server: MailServer }> {
  const server = await MailServer.start(rules);
  const components = [smtpBinding('mail', { host: '127.0.0.1', port: server.port, ...options })];
  const world = await bindingsWorld({ wire, components, hasApp: false });
  onTestFinished(async () => {
    await world[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { world, server };
}

const send = (world: BindingsWorld, metadata: object, data: unknown = '<b>Hello</b>') =>
  world.invoke('mail', { operation: 'create', data, metadata });

describe.each(WIRES)('bindings.smtp, wire %s', (wire) => {
  test('sends the data as HTML, with the parts of the call', async () => {
    const { world, server } = await withServer({}, {}, wire);
    const metadata = {
      ...MAIL,
      emailTo: 'Ann <a@b.example>; c@d.example',
      emailCC: 'e@f.example',
      emailBCC: 'g@h.example',
    };
    const { status, text } = await send(world, { ...metadata, priority: '1' });
    expect([status, text]).toEqual([204, '']);
    const [mail] = server.mails;
    expect([mail?.from, mail?.to]).toEqual([FROM, ['a@b.example', 'c@d.example', 'e@f.example', 'g@h.example']]);
    expect(mail?.text).toContain('To: Ann <a@b.example>, c@d.example');
    expect(mail?.text).toContain('Cc: e@f.example');
    expect(mail?.text).toContain('Subject: Hello');
    expect(mail?.text).toContain('X-Priority: 1');
    expect(mail?.text).toMatch(/Content-Type: text\/html/);
    expect(mail?.text).toContain('<b>Hello</b>');
    expect(mail?.text).not.toContain('g@h.example');
  });

  test('what a call says is for that call only', async () => {
    const { world, server } = await withServer({}, { ...MAIL, emailCC: 'copy@b.example' }, wire);
    const own = {
      emailTo: 'x@y.example',
      emailCC: 'z@y.example',
      emailBCC: 'b@y.example',
      subject: 'Other',
      priority: '5',
    };
    await send(world, own);
    await send(world, {});
    expect(server.mails.map(({ to }) => to)).toEqual([
      ['x@y.example', 'z@y.example', 'b@y.example'],
      ['a@b.example', 'copy@b.example'],
    ]);
    expect(server.mails[1]?.text).toContain('Subject: Hello');
    expect(server.mails[1]?.text).toContain('X-Priority: 3');
  });
});

test('calls side by side do not mix', async () => {
  const { world, server } = await withServer({}, { emailFrom: FROM });
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => send(world, { emailTo: `u${n}@b.example`, subject: `S${n}` }, `body${n}`)),
  );
  for (const { to, text } of server.mails) {
    const [, n = ''] = /^u(\d+)@/.exec(to.join()) ?? [];
    expect(text).toContain(`Subject: S${n}\n`);
    expect(text).toContain(`body${n}`);
  }
  expect(server.mails).toHaveLength(20);
});

test.each([
  [{ subject: 'x\r\nBcc: evil@e.example' }, 'metadata subject has a control character'],
  [{ subject: 'x\nBcc: evil@e.example' }, 'metadata subject has a control character'],
  [{ subject: 'x\u2028y' }, 'metadata subject has a control character'],
  [{ emailTo: 'a@b.example\r\nRCPT TO:<evil@e.example>' }, 'metadata emailTo: expected addresses'],
  [{ emailTo: 'a@b.example, evil@e.example' }, 'metadata emailTo: expected addresses'],
  [{ emailTo: '"evil@e.example"@b.example' }, 'metadata emailTo: expected addresses'],
  [{ emailTo: 'Ann\n <a@b.example>' }, 'metadata emailTo: expected addresses'],
  [{ emailTo: 'nobody' }, 'metadata emailTo: expected addresses'],
  [{ emailTo: ' ; ' }, 'metadata emailTo: expected an address'],
  [{ emailCC: 'a@b@c' }, 'metadata emailCC: expected addresses'],
  [{ emailBCC: '<>' }, 'metadata emailBCC: expected addresses'],
  [{ emailFrom: 'a@b.example; c@d.example' }, 'metadata emailFrom: expected one address'],
  [{ emailFrom: '' }, 'metadata emailFrom: expected one address'],
  [{ subject: '' }, 'metadata subject is missing'],
  [{ priority: '6' }, 'metadata priority: expected a number from 1'],
  [{ priority: 'high' }, 'metadata priority: expected a number from 1'],
])('refuses %o, and sends nothing', async (metadata, problem) => {
  const { world, server } = await withServer();
  const { status, text } = await send(world, { ...MAIL, ...metadata });
  expect([status, errorOf(text).errorCode]).toEqual([500, 'ERR_INVOKE_OUTPUT_BINDING']);
  expect(errorOf(text).message).toContain(problem);
  expect(text).not.toContain('evil');
  expect(server.commands).toEqual([]);
});

test.each([null, 1, { html: 'x' }, ['x']])('refuses the data %o', async (data) => {
  const { world, server } = await withServer();
  expect(errorOf((await send(world, MAIL, data)).text).message).toContain('data: expected a text');
  expect(server.mails).toEqual([]);
});

test('a body cannot end the mail', async () => {
  const { world, server } = await withServer();
  await send(world, MAIL, 'a\r\n.\r\nMAIL FROM:<evil@e.example>\r\n.b');
  expect(server.mails).toHaveLength(1);
  expect(server.commands.join()).not.toContain('evil');
});

test('a recipient who is refused is an error that does not show the address', async () => {
  const rcpt = (address: string): string | undefined => (address === 'no@b.example' ? '550 no such user' : undefined);
  const { world } = await withServer({ rcpt });
  const all = errorOf((await send(world, { ...MAIL, emailTo: 'no@b.example' })).text).message;
  expect(all).toContain('the mail server refuses the mail (550)');
  const some = errorOf((await send(world, { ...MAIL, emailTo: 'no@b.example;a@b.example' })).text).message;
  expect(some).toContain('refuses 1 of the recipients');
  expect(all + some).not.toContain('b.example');
});

test('a login: taken, refused', async () => {
  const login = { user: 'shop', password: 'hidden' };
  const { world, server } = await withServer({ login: '235 welcome' }, login);
  expect((await send(world, MAIL)).status).toBe(204);
  expect(server.commands.join()).toContain(Buffer.from('\0shop\0hidden').toString('base64'));
  const refusing = await withServer({ login: '535 no' }, login);
  const { text } = await send(refusing.world, MAIL);
  expect(errorOf(text).message).toContain('the mail server refuses the login (535)');
  expect(text).not.toContain('hidden');
});

test('a server that is down, and one that says nothing', async () => {
  const port = await freePort();
  const { world } = await withServer({}, { port });
  const unreachable =
    'error invoking output binding mail: the mail server cannot be reached, did not answer in time, or has no TLS';
  expect(errorOf((await send(world, MAIL)).text).message).toBe(unreachable);
  const silent = await withServer({ isSilent: true }, { timeout: '200ms' });
  expect(errorOf((await send(silent.world, MAIL)).text).message).toBe(unreachable);
});

test('refuses wrong options; a missing package is an error that names it', async () => {
  const host = 'a';
  expect(() => smtpBinding('mail', {} as never)).toThrow('host');
  expect(() => smtpBinding('mail', { host, user: 'x' })).toThrow('user and password belong together');
  expect(() => smtpBinding('mail', { host, emailTo: 'x' })).toThrow('emailTo');
  expect(() => smtpBinding('mail', { host, subject: 'a\nb' })).toThrow('subject');
  expect(() => smtpBinding('mail', { host, priority: 6 })).toThrow('priority');
  await expect(loadNodemailer('nodemailer-missing')).rejects.toThrow('run "npm install nodemailer-missing@10"');
});
