import { readAll } from '../../http/body.ts';
import { type Body, type HeaderMap, leaveBody, type SidecarResponse } from '../../http/message.ts';
import { failed } from './errors.ts';

/** Default limit of the body that {@link InvocationReply} reads into memory. */
const READ_LIMIT_BYTES = 16 * 1024 * 1024;

/**
 * The response to an invocation. Its body can be read once: as it arrives from `body`, or whole by one of the methods.
 * Call `discard()` if you don't read the body.
 *
 * @public
 */
export class InvocationReply implements SidecarResponse {
  /** The status of the target's response. */
  readonly status: number;
  /** The header fields, names in lower case. */
  readonly headers: HeaderMap;
  /** The body: bytes if it is small, else a stream. */
  readonly body: Body;
  /** The trailer fields, available once a streamed body has been read to its end. */
  readonly trailers: () => HeaderMap;
  readonly #target: string;

  /** @internal */
  constructor(target: string, { status, headers, body, trailers }: SidecarResponse) {
    this.#target = target;
    this.status = status;
    this.headers = headers;
    this.body = body;
    this.trailers = trailers ?? (() => ({}));
  }

  /** Whether the status is 200 to 299. */
  get ok(): boolean {
    return this.status >= 200 && this.status <= 299;
  }

  /**
   * The whole body.
   *
   * @param limitBytes - max bytes to read. Default: 16 MiB
   * @throws SidecarError `ERR_DIRECT_INVOKE` if the response breaks off or is longer.
   */
  async bytes(limitBytes: number = READ_LIMIT_BYTES): Promise<Buffer> {
    try {
      return await readAll(this.body, limitBytes);
    } catch (error) {
      throw failed(
        this.#target,
        `its answer could not be read whole, with a limit of ${limitBytes} bytes`,
        'answer',
        error,
      );
    }
  }

  /** The whole body as UTF-8 text; see {@link InvocationReply.bytes}. */
  async text(limitBytes?: number): Promise<string> {
    return (await this.bytes(limitBytes)).toString();
  }

  /**
   * The whole body, parsed as JSON; see {@link InvocationReply.bytes}.
   *
   * @throws SidecarError `ERR_DIRECT_INVOKE` if it is not JSON.
   */
  async json<Value = unknown>(limitBytes?: number): Promise<Value> {
    const text = await this.text(limitBytes);
    try {
      return JSON.parse(text) as Value;
    } catch (error) {
      throw failed(this.#target, `its answer with status ${this.status} is not JSON`, 'answer', error);
    }
  }

  /** Tells the target that the body will not be read. */
  discard(): void {
    leaveBody(this.body);
  }
}
