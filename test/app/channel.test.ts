import { describe, test } from 'vitest';
import { channelSuite } from './channel-suite.ts';
import { appWays, open } from './open.ts';

describe.each(Object.entries(appWays))('application: %s', (_name, way) => {
  for (const { name, run } of channelSuite) test(name, () => run((app, options) => open(way, app, options)));
});
