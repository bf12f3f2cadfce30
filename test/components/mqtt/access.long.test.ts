import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MqttPubSubOptions, mqttPubSub } from '../../../src/components/mqtt/index.ts';
import { BrokerWorld, until } from '../../support/broker-world.ts';
import { Certificates } from '../../support/certificates.ts';
import { hasMosquitto, type OwnServer, startMosquitto } from '../../support/servers.ts';

describe.runIf(hasMosquitto())('access to an MQTT broker', () => {
  let directory: string;
  let certificates: Certificates;
  let server: OwnServer;
  beforeAll(async () => {
    directory = await mkdtemp('/tmp/insidecar-mqtt-access-');
    const [passwords, rights] = [join(directory, 'passwords'), join(directory, 'rights')];
    spawnSync('mosquitto_passwd', ['-b', '-c', passwords, 'app', 'p@ss/:%']);
    writeFileSync(rights, 'user app\ntopic readwrite allowed/#\n');
    certificates = new Certificates();
    const { ca, cert, key } = certificates;
    server = await startMosquitto([
      ...[`certfile ${cert}`, `keyfile ${key}`, `cafile ${ca}`, 'require_certificate true'],
      ...['allow_anonymous false', `password_file ${passwords}`, `acl_file ${rights}`, 'max_packet_size 5000'],
    ]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    certificates[Symbol.dispose]();
    await rm(directory, { recursive: true });
  });

  const tls = (): object => {
    const { trust, cert, key } = certificates;
    return { ...trust, cert: readFileSync(cert), key: readFileSync(key) };
  };
  const start = (options: Partial<MqttPubSubOptions> = {}, topic = 'allowed/a'): Promise<BrokerWorld> => {
    const url = `mqtts://app:${encodeURIComponent('p@ss/:%')}@127.0.0.1:${server.port}`;
    const component = mqttPubSub('pubsub', { url, tls: tls(), ...options });
    return BrokerWorld.start({ component, subscriptions: [{ topic, route: '/in' }] });
  };
  const warnings = ({ logger }: BrokerWorld): string => JSON.stringify(logger.lines);

  test.each([5, 4] as const)(
    'version %s: TLS with the certificate of a client, a user and a password',
    async (protocolVersion) => {
      await using world = await start({ protocolVersion }, `allowed/${protocolVersion}`);
      expect((await world.publish(`allowed/${protocolVersion}`, 'x')).status).toBe(204);
      await world.received('/in', 1);
      expect(warnings(world)).not.toContain('p@ss');
    },
  );

  test.each([
    ['an authority that is not known', () => ({ tls: { ...tls(), ca: undefined } }), 'does not trust', 'option tls'],
    ['a wrong password', () => ({ password: 'wrong' }), 'refuses the connection: not authorized (135)', ''],
    ['no certificate of the client', () => ({ tls: certificates.trust }), 'cannot be reached', ''],
  ])('the error says why: %s', async (_what, options, problem, more) => {
    await using world = await start({ publishTimeout: 1_000, ...options() });
    await until('it is logged', () => warnings(world).includes(problem));
    expect(warnings(world)).toContain(more);
    expect(warnings(world)).not.toContain('p@ss');
    expect((await world.publish('allowed/a', 'x')).status).toBe(500);
  });

  test('a wrong password fails a publish at once, with the reason', async () => {
    await using world = await start({ password: 'wrong' });
    const answer = await world.publish('allowed/a', 'x');
    expect([answer.status, answer.text]).toEqual([
      500,
      expect.stringContaining('refuses the connection: not authorized'),
    ]);
  });

  test('MQTT 5: a publish without the right to it fails, and so does one that is too large', async () => {
    await using world = await start();
    const denied = await world.publish('other', 'x');
    expect([denied.status, denied.text]).toEqual([500, expect.stringContaining('not authorized (135)')]);
    const large = await world.publish('allowed/a', 'x'.repeat(6_000));
    expect([large.status, large.text]).toEqual([500, expect.stringContaining('takes at most 5000')]);
    expect((await world.publish('allowed/a', 'x')).status).toBe(204);
  });
});
