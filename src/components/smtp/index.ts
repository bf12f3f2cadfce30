/**
 * Mails by SMTP.
 *
 * @packageDocumentation
 */

export { type SmtpBindingOptions, smtpBinding } from './smtp-binding.ts';
