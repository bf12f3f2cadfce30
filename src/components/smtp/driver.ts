import { SidecarError } from '../../errors.ts';
import { loadPackage } from '../../util/load-package.ts';

/** An address with the name to show, which may be empty. */
export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

/** A mail as the package takes it. */
export interface Mail {
  readonly from: MailAddress;
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly subject: string;
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The contents are given as texts: nothing is read from files and URLs. */
  readonly disableFileAccess: true;
  readonly disableUrlAccess: true;
}

/** The used part of a transport. */
export interface MailTransport {
  sendMail(mail: Mail): Promise<{ readonly rejected?: readonly unknown[] }>;
  close(): void;
}

/** The used part of the package `nodemailer`: it need not be installed. */
export interface MailModule {
  createTransport(options: object): MailTransport;
}

/**
 * Loads the driver.
 *
 * @throws SidecarError `ERR_CONFIGURATION` naming the package to install.
 */
export function loadNodemailer(name = 'nodemailer'): Promise<MailModule> {
  const wanted = { name, version: '10', neededBy: 'The component of type bindings.smtp' };
  return loadPackage(wanted, (message, cause) => new SidecarError('ERR_CONFIGURATION', message, { cause }));
}
