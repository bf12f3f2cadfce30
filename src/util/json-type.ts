/** Whether a media type is one of JSON: `application/json`, or one that ends with `+json`. */
export function isJsonType(contentType: string): boolean {
  return /[/+]json\b/i.test(contentType);
}
