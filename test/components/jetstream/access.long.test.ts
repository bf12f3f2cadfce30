import { randomUUID } from 'node:crypto';
import { nkeys } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import type { JetStreamPubSubOptions } from '../../../src/components/jetstream/index.ts';
import { acknowledge, Collector, eventually, publishTexts, textMessage } from '../../../src/kit/collector.ts';
import { Certificates } from '../../support/certificates.ts';
import { freePort } from '../../support/http.ts';
import { RecordingLogger } from '../../support/logger.ts';
import { hasNats } from '../../support/servers.ts';
import { NatsForTests, openJetStream } from './nats-world.ts';

/** Publishes and consumes a message. */
async function roundTrip(url: string, options: JetStreamPubSubOptions = {}): Promise<void> {
  const [component, topic] = [await openJetStream(url, options), `access.${randomUUID()}`];
  const consumer = await Collector.join(component, { topic }, acknowledge);
  await publishTexts(component, topic, ['a']);
  await consumer.expect(1);
  await component.close();
}

/** Why there is no connection. */
async function refusal(url: string, options: JetStreamPubSubOptions = {}): Promise<string> {
  const logger = new RecordingLogger();
  const component = await openJetStream(url, { publishTimeout: 500, ...options }, logger);
  await expect(Collector.join(component, { topic: 'a' })).rejects.toThrow(
    /^NATS at 127\.0\.0\.1:\d+ cannot be reached: /,
  );
  await expect(component.publish([textMessage('a', 'a')])).rejects.toThrow(
    /did not confirm the message within 500 ms: (?!undefined)./,
  );
  await component.close();
  // A refused certificate may end the connection before or after the server's alert came: two reasons, each told once.
  const told = logger.at('warn').map(({ message, details }) => `${message}: ${details['error']}`);
  expect(told.length).toBeGreaterThan(0);
  expect(new Set(told).size).toBe(told.length);
  return told.join('\n');
}

const withUser = (url: string, user: string): string => url.replace('//', `//${user}@`);

describe.skipIf(!hasNats())('access to NATS', () => {
  test('by user and password', async () => {
    await using server = await NatsForTests.own(['authorization { user: me, password: "p@ss" }']);
    await roundTrip(withUser(server.url, 'me:p%40ss'));
    await roundTrip(server.url, { username: 'me', password: 'p@ss' });
    const problem = await refusal(server.url, { username: 'me', password: 'hunter2' });
    expect(problem).toMatch(/Authorization Violation/);
    expect(problem).not.toContain('hunter2');
  });

  test('by token', async () => {
    await using server = await NatsForTests.own(['authorization { token: sesame }']);
    await roundTrip(withUser(server.url, 'sesame'));
    await roundTrip(server.url, { token: 'sesame' });
    expect(await refusal(server.url)).toMatch(/Authorization Violation/);
  });

  test('by JWT and seed', async () => {
    const claims = new Claims();
    await using server = await NatsForTests.own(claims.settings);
    await roundTrip(server.url, { jwt: claims.userJwt, seed: claims.userSeed });
    const stranger = new Claims();
    const problem = await refusal(server.url, { jwt: stranger.userJwt, seed: stranger.userSeed });
    expect(problem).toMatch(/Authorization Violation/);
    expect(problem).not.toContain(stranger.userSeed);
  });

  test('over TLS', async () => {
    using certificates = new Certificates();
    const { cert, key, ca, trust } = certificates;
    await using server = await NatsForTests.own([`tls { cert_file: "${cert}", key_file: "${key}" }`]);
    await roundTrip(server.url, { tls: trust });
    await roundTrip(server.url.replace('nats:', 'tls:'), { tls: trust });
    expect(await refusal(server.url)).toMatch(/certificate/);
    await using plain = await NatsForTests.own();
    expect(await refusal(plain.url.replace('nats:', 'tls:'))).toMatch(/tls/i);
    expect(ca).not.toBe('');
  });

  test('with a client certificate', async () => {
    using certificates = new Certificates();
    const { cert, key, ca, trust } = certificates;
    const settings = `tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${ca}", verify: true }`;
    await using server = await NatsForTests.own([settings]);
    await roundTrip(server.url, { tls: { ...trust, certFile: cert, keyFile: key } });
    expect(await refusal(server.url, { tls: trust })).toMatch(/certificate|ended|closed|disconnect|ECONNRESET|EPIPE/i);
  });

  test('a subject that the user may not use is told at once', async () => {
    const permissions = 'permissions { publish { deny: "secret.>" } }';
    await using server = await NatsForTests.own([
      `authorization { users: [{ user: me, password: x, ${permissions} }] }`,
    ]);
    const component = await openJetStream(withUser(server.url, 'me:x'));
    const [failure] = await component.publish([textMessage('secret.plans', 'a')]);
    expect(failure?.error.message).toMatch(
      /^NATS at .* reports: Permissions Violation for Publish to "secret\.plans"$/,
    );
    await publishTexts(component, 'orders', ['a']);
    await component.close();
  });

  test('a user with the rights of the documents, and no others', async () => {
    const api = [
      'STREAM.NAMES',
      'CONSUMER.INFO.>',
      'CONSUMER.DURABLE.CREATE.>',
      'CONSUMER.MSG.NEXT.>',
      'STREAM.CREATE.>',
    ];
    const publish = ['access.*', '$JS.ACK.>', ...api.map((action) => `$JS.API.${action}`)].map((right) => `"${right}"`);
    const permissions = `permissions { publish { allow: [${publish.join(', ')}] }, subscribe { allow: ["_INBOX.>"] } }`;
    await using server = await NatsForTests.own([
      `authorization { users: [{ user: me, password: x, ${permissions} }] }`,
    ]);
    await roundTrip(withUser(server.url, 'me:x'));
  });

  test('the next server of a list is used when one is gone', async () => {
    await using server = await NatsForTests.own();
    await roundTrip(`nats://127.0.0.1:${await freePort()},${server.url}`);
  });

  test('a connection that fails again and again is told of once, and its return', async () => {
    const [port, logger] = [await freePort(), new RecordingLogger()];
    const component = await openJetStream(`nats://127.0.0.1:${port}`, {}, logger);
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(Collector.join(component, { topic: 'a' })).rejects.toThrow(
        `NATS at 127.0.0.1:${port} cannot be reached: connection refused`,
      );
    await using _server = await NatsForTests.own([`listen: 127.0.0.1:${port}`]);
    await eventually('it is connected', () => logger.at('info').length > 0);
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'no connection to the server: trying again'],
      ['info', 'connected to the server again'],
    ]);
    await component.close();
  });
});

/** An operator, an account with JetStream, and a user of it. */
class Claims {
  readonly #operator = nkeys.createOperator();
  readonly #account = nkeys.createAccount();
  readonly #user = nkeys.createUser();
  readonly #system = nkeys.createAccount();

  get userSeed(): string {
    return Buffer.from(this.#user.getSeed()).toString();
  }

  get userJwt(): string {
    return this.#jwt(this.#user, this.#account, 'user', { subs: -1, data: -1, payload: -1 });
  }

  get settings(): readonly string[] {
    const all = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
    const limits = { ...all, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const account = this.#jwt(this.#account, this.#operator, 'account', { limits });
    const system = this.#jwt(this.#system, this.#operator, 'account', { limits: all });
    return [
      `operator: ${this.#jwt(this.#operator, this.#operator, 'operator', {})}`,
      `system_account: ${this.#system.getPublicKey()}`,
      'resolver: MEMORY',
      `resolver_preload: { ${this.#account.getPublicKey()}: ${account}, ${this.#system.getPublicKey()}: ${system} }`,
    ];
  }

  #jwt(subject: nkeys.KeyPair, issuer: nkeys.KeyPair, type: string, more: object): string {
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      ...{ jti: randomUUID(), iat: Math.floor(Date.now() / 1_000), iss: issuer.getPublicKey() },
      ...{ name: type, sub: subject.getPublicKey(), nats: { ...more, type, version: 2 } },
    };
    const text = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(claims)}`;
    return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
  }
}
