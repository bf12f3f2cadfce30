/** The pattern of app IDs, namespaces and consumer groups. */
export const NAME_PATTERN = '^[^./\\s\\u0000-\\u001f\\u007f]{1,256}$';
