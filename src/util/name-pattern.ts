/** The form of app IDs, namespaces and consumer groups: a pattern, and the same in words. */
export const NAME_FORM = {
  pattern: '^[^./\\s\\u0000-\\u001f\\u007f]{1,256}$',
  expects: '1 to 256 characters without dots, slashes and white space',
} as const;
