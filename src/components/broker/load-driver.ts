import { SidecarError } from '../../errors.ts';
import { loadPackage, type OptionalPackage } from '../../util/load-package.ts';

/**
 * Loads the driver of a component.
 *
 * @param type - the type of the component, for the error
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadBrokerDriver<Driver>(
  driver: Pick<OptionalPackage, 'name' | 'version'>,
  type: string,
): Promise<Driver> {
  const what = type.startsWith('pubsub.') ? 'The pub/sub component' : 'The component';
  const wanted = { ...driver, neededBy: `${what} of type ${type}` };
  return loadPackage(wanted, (message, cause) => new SidecarError('ERR_CONFIGURATION', message, { cause }));
}
