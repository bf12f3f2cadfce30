import { SidecarError } from '../../errors.ts';
import { loadPackage, type OptionalPackage } from '../../util/load-package.ts';

/**
 * Loads the driver of a pub/sub component.
 *
 * @param type - the type of the component, for the error
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadPubSubDriver<Driver>(
  driver: Pick<OptionalPackage, 'name' | 'version'>,
  type: string,
): Promise<Driver> {
  const wanted = { ...driver, neededBy: `The pub/sub component of type ${type}` };
  return loadPackage(wanted, (message, cause) => new SidecarError('ERR_CONFIGURATION', message, { cause }));
}
