import { RESERVED_PUBSUB_NAME } from '../blocks/pubsub/routes.ts';
import type { AnyComponentDefinition } from '../components/any-component.ts';
import { SidecarError } from '../errors.ts';

/** @throws SidecarError `ERR_CONFIGURATION` for names that cannot be told apart, or from a route. */
export function checkComponentNames(components: readonly Pick<AnyComponentDefinition, 'name' | 'block'>[]): void {
  const seen = new Set<string>();
  for (const { name, block = 'pubsub' } of components) {
    if (block === 'pubsub' && name === RESERVED_PUBSUB_NAME)
      throw new SidecarError(
        'ERR_CONFIGURATION',
        `a pub/sub may not be named ${name}: its routes are those of bulk publishing`,
      );
    if (seen.has(name))
      throw new SidecarError('ERR_CONFIGURATION', `component name ${JSON.stringify(name)} is used twice`);
    seen.add(name);
  }
}
