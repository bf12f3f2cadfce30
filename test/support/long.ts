/** Whether the long variants of tests run, which repeat with more patience what a short one shows. */
export const isLong = process.env['INSIDECAR_TEST_LONG'] !== undefined;
