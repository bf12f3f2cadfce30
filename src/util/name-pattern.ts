/** What app IDs, namespaces and consumer groups may be. */
export const NAME_PATTERN = '^[^./\\s\\u0000-\\u001f\\u007f]{1,256}$';
