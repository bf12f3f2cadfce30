import { randomUUID } from 'node:crypto';
import { jsonString } from '../../util/json-text.ts';
import { checkOptions, type OptionFields, required, TEXT, whole } from '../../util/option-fields.ts';
import type { Binding, BindingDefinition, BindingOptions, BindingRequest, BindingResponse } from '../binding.ts';
import { BINDING_FIELDS, commonParts } from '../binding-options.ts';
import { StorageRoot } from './storage-root.ts';

/** Options of {@link localStorageBinding}. @public */
export interface LocalStorageBindingOptions extends BindingOptions {
  /** The directory that holds the files; it is made if it is missing. Relative paths begin at the working directory. */
  readonly rootPath: string;
  /** The largest file that is read, in bytes. Default 100 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** App IDs that may use it. Default: all. */
  readonly scopes?: readonly string[] | undefined;
}

const FIELDS: OptionFields<LocalStorageBindingOptions> = {
  ...BINDING_FIELDS,
  rootPath: required(TEXT),
  maxFileBytes: whole(1),
};
const MAX_FILE_BYTES = 100 * 1024 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * An output binding to files in a directory: the operations `create`, `get`, `list` and `delete`, with the path of the
 * file below the directory in the metadata `fileName`. No name and no link leads out of the directory. A file is
 * replaced in one step.
 *
 * @param name - the name in requests
 * @throws SidecarError `ERR_CONFIGURATION` for wrong options; `start()` throws it for a directory that cannot be used.
 * @example
 * ```ts
 * const components = [localStorageBinding('files', { rootPath: './files' })];
 * ```
 * @public
 */
export function localStorageBinding(name: string, options: LocalStorageBindingOptions): BindingDefinition {
  const what = `localStorageBinding ${JSON.stringify(name)}`;
  checkOptions(`options of ${what}`, options, FIELDS);
  const { rootPath, maxFileBytes = MAX_FILE_BYTES } = options;
  return {
    ...commonParts(options),
    name,
    type: 'bindings.localstorage',
    directions: ['output'],
    operations: ['create', 'get', 'list', 'delete'],
    open: async () => new LocalStorageBinding(await StorageRoot.open(rootPath, what), maxFileBytes),
  };
}

class LocalStorageBinding implements Binding {
  readonly #root: StorageRoot;
  readonly #maxFileBytes: number;

  constructor(root: StorageRoot, maxFileBytes: number) {
    this.#root = root;
    this.#maxFileBytes = maxFileBytes;
  }

  async invoke({ operation, data, metadata }: BindingRequest): Promise<BindingResponse | undefined> {
    const { fileName = '' } = metadata;
    switch (operation) {
      case 'create':
        return json({ fileName: await this.#root.write(fileName === '' ? randomUUID() : fileName, contentOf(data)) });
      case 'get':
        return { data: await this.#root.read(fileName, this.#maxFileBytes) };
      case 'list':
        return json(await this.#root.list(fileName));
      default:
        return void (await this.#root.delete(fileName));
    }
  }

  async close(): Promise<void> {}
}

function json(value: unknown): BindingResponse {
  return { data: Buffer.from(JSON.stringify(value)) };
}

/** The bytes of a file: those that a text in base64 stands for, else the text, else the JSON. */
function contentOf(data: Uint8Array): Uint8Array {
  if (data[0] !== 0x22) return data;
  const text = jsonString(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
  // Line breaks may stand between the groups (RFC 2045, section 6.8).
  const plain = text.replaceAll(/[\r\n]/g, '');
  return plain.length % 4 === 0 && BASE64.test(plain) ? Buffer.from(plain, 'base64') : Buffer.from(text);
}
