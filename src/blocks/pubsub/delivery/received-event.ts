/**
 * A CloudEvent as it was received. For functions it is an instance of `CloudEvent` of the package `cloudevents`, with its
 * methods.
 *
 * @public
 */
export interface ReceivedEvent<T = unknown> {
  /** Identifies the event: unique for its source. */
  readonly id: string;
  /** Where it comes from: the app ID of the publisher, unless it said otherwise. */
  readonly source: string;
  /** Its kind; `com.dapr.event.sent` unless the publisher said otherwise. */
  readonly type: string;
  /** The version of the CloudEvents specification, `1.0`. */
  readonly specversion: string;
  /** The data: a JSON value, text or bytes, as the content type says. */
  readonly data: T;
  /** The media type of the data. */
  readonly datacontenttype?: string | undefined;
  /** The schema of the data. */
  readonly dataschema?: string | undefined;
  /** What it is about. */
  readonly subject?: string | undefined;
  /** When it happened: an RFC 3339 instant. */
  readonly time?: string | undefined;
  /** Extensions, such as `topic`, `pubsubname`, `traceparent`, and those of the publisher. */
  readonly [extension: string]: unknown;
}
