import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { servant } from './servers.ts';

/** A certificate authority of a test, and what a server on this machine needs. */
export class Certificates implements Disposable {
  readonly directory = mkdtempSync('/tmp/insidecar-tls-');
  /** Paths. */
  readonly ca = join(this.directory, 'ca.crt');
  readonly cert = join(this.directory, 'server.crt');
  readonly key = join(this.directory, 'server.key');

  constructor() {
    const names = join(this.directory, 'names');
    writeFileSync(names, 'subjectAltName=DNS:localhost,IP:127.0.0.1');
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout'];
    const caKey = join(this.directory, 'ca.key');
    const request = join(this.directory, 'server.csr');
    this.#openssl('req', '-x509', ...newKey, caKey, '-out', this.ca, '-days', '2', '-subj', '/CN=insidecar test');
    this.#openssl('req', ...newKey, this.key, '-out', request, '-subj', '/CN=localhost');
    const signer = ['-CA', this.ca, '-CAkey', caKey, '-CAcreateserial', '-days', '2', '-extfile', names];
    this.#openssl('x509', '-req', '-in', request, ...signer, '-out', this.cert);
    const owner = servant();
    if (owner !== undefined)
      for (const path of [this.directory, this.cert, this.key]) chownSync(path, owner.uid, owner.gid);
  }

  #openssl(...args: readonly string[]): void {
    const { status, stderr } = spawnSync('openssl', args, { cwd: this.directory });
    if (status !== 0) throw new Error(`openssl failed: ${stderr.toString()}`);
  }

  /** The options of `tls.connect` that trust the authority. */
  get trust(): { readonly ca: string } {
    return { ca: readFileSync(this.ca, 'utf8') };
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
